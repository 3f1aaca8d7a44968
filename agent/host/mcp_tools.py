"""Adapts a server's tool for the chat loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.chat.events import Noticed
from agent.chat.messages import Content, Text
from agent.chat.outbox import Outbox
from agent.chat.provider import ToolSpec
from agent.chat.toolbox import OnProgress, ToolOutput
from agent.host.approvals import Approvals, define
from agent.host.connection import Connection
from agent.host.content import EMPTY, FOR_USER_ONLY, Cutter, content_of, for_model, for_user_only, text_of, to_json
from agent.host.errors import describe_error
from agent.host.patience import Patience
from agent.host.schemas import Unusable, mismatch
from agent.host.tool_names import shown_name
from agent.mcp.errors import McpError

if TYPE_CHECKING:
    import mcp_types as types

    from agent.mcp.wire import ToolResult


class McpTool:
    """Implements `agent.chat.toolbox.Tool`."""

    def __init__(
        self, connection: Connection, tool: types.Tool, outbox: Outbox, approvals: Approvals, cutter: Cutter
    ) -> None:
        self._connection, self._tool, self._outbox, self._cutter = connection, tool, outbox, cutter
        self._approvals, self._definition = approvals, define(tool)
        description = self._definition.description
        self.spec = ToolSpec(shown_name(connection.name, tool.name), description, tool.input_schema)
        self.server, self.name = connection.name, tool.name

    @property
    def harmless(self) -> bool:
        """Approved permanently with this definition, or `readOnlyHint` set by a server that the user trusts."""
        if self._approvals.holds(self.server, self._definition):
            return True
        annotations = self._tool.annotations
        return self._connection.table.trust and annotations is not None and annotations.read_only_hint is True

    def fault(self, arguments: dict[str, Any]) -> str | None:
        try:
            fault = mismatch(arguments, self._tool.input_schema)
        except Unusable as error:
            return f"The tool {self.name} cannot be called: its schema {error}."
        return f"The arguments do not fit the tool's schema: {fault}." if fault else None

    async def __call__(self, arguments: dict[str, Any], on_progress: OnProgress) -> ToolOutput:
        patience = Patience(self._connection.table.timeout)

        def progressed(done: float, total: float | None = None, note: str | None = None) -> None:
            patience.restart()
            on_progress(done, total, note or "")

        with self._cutter.together():
            try:
                result = await self._connection.request(
                    f"the call of {self.name}",
                    lambda client: client.call_tool(self.name, arguments, progress=progressed),
                    patience,
                )
            except McpError as error:
                return ToolOutput(self._cutter.cut([Text(describe_error(error))]), is_error=True)
            self._check_output(result)
            return ToolOutput(self._cutter.cut(self._content(result)), result.is_error)

    def _content(self, result: ToolResult) -> list[Content]:
        """`structuredContent` repeats the content (specification, server/tools), so it is only used without any."""
        for block in result.content:
            if for_user_only(block):
                self._outbox.emit(Noticed(self.server, "info", text_of([content_of(block)])))
        if result.content:
            return for_model(result.content) or [Text(FOR_USER_ONLY)]
        return [Text(EMPTY if result.structured_content is None else to_json(result.structured_content))]

    def _check_output(self, result: ToolResult) -> None:
        """Emit a notice if the result does not match the tool's output schema; the model gets the result anyway."""
        schema = self._tool.output_schema
        if schema is None or result.is_error:
            return
        try:
            fault = mismatch(result.structured_content, schema)
        except Unusable as error:
            fault = f"its output schema {error}"
        if fault:
            self._outbox.emit(
                Noticed(self.server, "warning", f"The result of {self.name} breaks its promise: {fault}.")
            )
