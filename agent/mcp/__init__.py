"""The Model Context Protocol: `Client` connects to servers, `Server` implements one.

Names are imported on first use, so that a client does not load the server's modules, nor a server the client's.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.mcp.client.client import Client
    from agent.mcp.envelope import ConnectionLost
    from agent.mcp.errors import McpError, Unreadable
    from agent.mcp.lifecycle import HandshakeFailed, NotOffered
    from agent.mcp.server.content import Audio, Image, ToolResult
    from agent.mcp.server.context import Context
    from agent.mcp.server.dialogue import ClientRefused
    from agent.mcp.server.server import Server
    from agent.mcp.server.service import Caching
    from agent.mcp.server.signature import Header, SignatureError
    from agent.mcp.server.task_store import MemoryTaskStore, TaskRecord, TaskStore
    from agent.mcp.transports.http_client import http
    from agent.mcp.transports.memory import memory
    from agent.mcp.transports.stdio import stdio

__all__ = [
    "Audio",
    "Caching",
    "Client",
    "ClientRefused",
    "ConnectionLost",
    "Context",
    "HandshakeFailed",
    "Header",
    "Image",
    "McpError",
    "MemoryTaskStore",
    "NotOffered",
    "Server",
    "SignatureError",
    "TaskRecord",
    "TaskStore",
    "ToolResult",
    "Unreadable",
    "http",
    "memory",
    "stdio",
]

HOMES = {
    "Audio": "server.content",
    "Caching": "server.service",
    "Client": "client.client",
    "ClientRefused": "server.dialogue",
    "ConnectionLost": "envelope",
    "Context": "server.context",
    "HandshakeFailed": "lifecycle",
    "Header": "server.signature",
    "Image": "server.content",
    "McpError": "errors",
    "MemoryTaskStore": "server.task_store",
    "NotOffered": "lifecycle",
    "Server": "server.server",
    "SignatureError": "server.signature",
    "TaskRecord": "server.task_store",
    "TaskStore": "server.task_store",
    "ToolResult": "server.content",
    "Unreadable": "errors",
    "http": "transports.http_client",
    "memory": "transports.memory",
    "stdio": "transports.stdio",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
