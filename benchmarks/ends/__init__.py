"""The measured programs: the same small server and the same client, each written with three libraries."""
