"""Names and codes of the protocol that several modules share."""

from __future__ import annotations

# Keys of `_meta`.

REVISION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK = "io.modelcontextprotocol/related-task"

# Headers of HTTP, in lower case.

SESSION_HEADER = "mcp-session-id"
RESUME_HEADER = "last-event-id"
REVISION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
PARAM_PREFIX = "mcp-param-"

# Error codes besides those of JSON-RPC.

RESOURCE_NOT_FOUND = -32002
"""In the handshake era; the stateless era has no code of its own for it."""
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_REVISION = -32022
URL_ELICITATION_REQUIRED = -32042
"""The request needs URL elicitations to be completed first (section "Elicitation", 2025-11-25)."""

# Extensions, methods and notifications.

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
"""The extension in which tool calls may become tasks."""

ASKING = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods of the stateless era whose result may be INPUT_REQUIRED."""
INPUT_REQUIRED = "input_required"

RESOURCE_UPDATED = "notifications/resources/updated"
TASK_CHANGED = "notifications/tasks"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
