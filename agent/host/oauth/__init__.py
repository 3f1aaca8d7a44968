"""Servers that a person signs in to: `access` signs requests, `flow` gets a token, `store` keeps it."""
