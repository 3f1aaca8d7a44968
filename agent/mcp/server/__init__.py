"""The server: Python functions as tools, resources and prompts, served in both eras of the protocol."""
