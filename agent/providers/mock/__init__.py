"""The offline model: finds tool calls in plain text (`words`, `arguments`), or follows a script (`script`)."""
