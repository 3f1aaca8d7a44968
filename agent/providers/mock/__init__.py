"""The offline model: it finds calls in what a person types (`words`, `arguments`), or follows a script (`script`)."""
