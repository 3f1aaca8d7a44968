"""The tables of a configuration file, as validated models."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from agent.chat.policy import Permission
from agent.host.oauth.table import OAuthTable

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]
Filled = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Kind = Literal["openai", "anthropic", "mock"]
Approval = Literal["allow", "ask", "deny", "manual"]

ANSWERS = ("ask", "decline", "cancel", "defaults")
"""The keywords allowed for `elicitation`; any other value is the path of an answer file."""


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ChatTable(Table):
    """`timeout` is for a whole run, in seconds; `max_tokens` for one reply; `max_tool_output` in characters.

    `roots` are folders that every server may be told of, with the person's consent.
    """

    model: str | None = None
    system: str = ""
    roots: tuple[Filled, ...] = ()
    max_turns: Count = 30
    max_tokens: Count | None = None
    timeout: Seconds | None = None
    max_tool_output: Count = 60_000


class ProviderTable(Table):
    kind: Kind | None = None
    api: Literal["responses", "chat"] | None = None
    api_key: SecretStr | None = None
    base_url: Filled | None = None
    script: Filled | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)


class PermissionsTable(Table):
    default: Permission = "ask"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class SamplingTable(Table):
    """Limits for sampling requests of each server. `max_tokens` is for one reply, `max_cost_per_turn` in US dollars.

    `max_tool_rounds` limits the rounds of tool calls in one conversation between a server and the model.
    """

    approve: Approval = "ask"
    max_tokens: Count = 4096
    max_requests_per_turn: Annotated[int, Field(ge=0)] = 10
    max_tokens_per_turn: Count = 200_000
    max_cost_per_turn: Annotated[float, Field(gt=0)] | None = None
    max_concurrent: Count = 4
    max_tool_rounds: Count = 10
    models: dict[str, str] = Field(default_factory=dict)


class ElicitationTable(Table):
    answer: Filled = "ask"


class ToolsTable(Table):
    """Patterns of tool names within one server."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class ServerTable(Table):
    """One server, with exactly one way to reach it. `timeout` is in seconds, for a call without progress.

    `ping` is the interval between pings in seconds, 0 for none. `context` allows its sampling requests to include the
    conversation.
    """

    bundled: Literal["demo", "notes", "custom"] | None = None
    command: Filled | None = None
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    cwd: Filled | None = None
    url: Filled | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    auth: Literal["none", "oauth"] | None = None
    oauth: OAuthTable = OAuthTable()
    protocol: Literal["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] = "auto"
    trust: bool = False
    required: bool = False
    connect_timeout: Seconds = 15
    timeout: Seconds = 120
    ping: Annotated[float, Field(ge=0)] = 300
    sampling: Approval | None = None
    context: bool = False
    elicitation: Filled | None = None
    roots: tuple[Filled, ...] = ()
    tools: ToolsTable = ToolsTable()

    @property
    def ways(self) -> tuple[str, ...]:
        """The keys present that say how to reach the server: there must be exactly one."""
        return tuple(key for key in ("command", "url", "bundled") if getattr(self, key) is not None)

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line; empty for a server with a URL.

        A bundled server runs with `-P`, so that no file in the working directory can replace its modules.
        """
        if self.bundled is not None:
            return (sys.executable, "-P", "-m", f"servers.{self.bundled}", *self.args)
        return (self.command, *self.args) if self.command is not None else ()

    @property
    def environment(self) -> dict[str, str]:
        return {name: value.get_secret_value() for name, value in self.env.items()}


class Settings(Table):
    """Everything except providers and servers. `models` are aliases of PROVIDER/MODEL."""

    chat: ChatTable = ChatTable()
    models: dict[str, Filled] = Field(default_factory=dict)
    permissions: PermissionsTable = PermissionsTable()
    sampling: SamplingTable = SamplingTable()
    elicitation: ElicitationTable = ElicitationTable()
