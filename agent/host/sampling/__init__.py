"""Sampling requests: limits (`budget`), choice of the model (`models`), conversion (`messages`, `tools`)."""
