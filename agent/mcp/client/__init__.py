"""The client's end: how a conversation begins, and one for each era of the protocol."""
