from __future__ import annotations

import subprocess
import sys

import pytest

import agent.mcp


def loaded_by(code: str) -> set[str]:
    """The modules that are there after running `code` in a fresh interpreter."""
    script = f"import sys\n{code}\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_every_public_name_is_there() -> None:
    assert set(agent.mcp.__all__) <= set(dir(agent.mcp))
    for name in agent.mcp.__all__:
        assert getattr(agent.mcp, name).__name__ == name


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match=r"module 'agent\.mcp' has no attribute 'Cleint'"):
        _ = agent.mcp.Cleint


def test_the_package_alone_loads_nothing() -> None:
    assert {name for name in loaded_by("import agent.mcp") if name.startswith("agent")} == {"agent", "agent.mcp"}


def test_the_errors_cost_no_models() -> None:
    modules = loaded_by("from agent.mcp import McpError, ConnectionLost, NotOffered, Unreadable")
    assert not modules & {"mcp_types", "pydantic", "jsonschema", "httpx2", "starlette"}


def test_the_client_loads_no_host_and_no_server() -> None:
    modules = loaded_by("from agent.mcp import Client, stdio, memory")
    assert not modules & {
        "agent.host",
        "agent.chat",
        "agent.mcp.server.server",
        "jsonschema",
        "httpx2",
        "starlette",
        "mcp",
    }
