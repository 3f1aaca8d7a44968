"""A server's question to the model: who may (`budget`), which model (`models`), what is sent (`messages`, `tools`)."""
