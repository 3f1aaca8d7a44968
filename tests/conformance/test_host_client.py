from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.mcp import Context, Server
from tests.conformance.host_client import configure, run
from tests.host.http_peers import served

pytestmark = pytest.mark.anyio

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "confirmed": {"type": "boolean"},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "idle"], "default": "active"},
    },
    "required": ["confirmed"],
}


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_a_file_of_answers_and_the_form_s_own_defaults_answer_in_a_person_s_place(
    tmp_path: Path, protocol: str
) -> None:
    suite, heard = Server("suite"), list[Any]()

    @suite.tool
    async def ask(ctx: Context, times: int) -> str:
        answer = await ctx.elicit("Sure?", FORM)
        sample = await ctx.sample("Who are you?", max_tokens=10)
        heard.append((times, answer.content, sample.text, [root.uri for root in await ctx.roots()]))
        return "asked"

    async with served(suite.asgi()) as address:
        await run(configure(tmp_path, f"{address}/mcp", protocol), "tools_call")
    filled = {"confirmed": True, "score": 95.5, "status": "active"}
    assert heard == [(5, filled, "[mock] Who are you?", [tmp_path.as_uri()])]
