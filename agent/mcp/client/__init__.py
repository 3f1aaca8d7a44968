"""The client: opening a connection, and one implementation of a session for each era of the protocol."""
