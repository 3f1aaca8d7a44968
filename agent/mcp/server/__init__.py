"""The server's end: Python functions to tools, resources and prompts, and both eras in front of them."""
