"""OAuth for servers: `access` authorizes requests, `flow` obtains tokens, `store` keeps them."""
