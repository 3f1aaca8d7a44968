"""`maxTokens`, kept whatever an API makes of it."""

from __future__ import annotations

import pytest

from agent.chat.messages import AssistantMessage, Opaque, Stop, Text, ToolCall, Usage
from agent.chat.provider import Finished
from agent.host.sampling.limit import within_limit

TEXT = "one two three four five six seven eight "
CALL = ToolCall("c", "t", {}, "{}")
NATIVE = Opaque("p", "responses", "m", ({},))


def reply(*content: Text | ToolCall, usage: Usage | None = None, stop: Stop = Stop.END) -> Finished:
    return Finished(AssistantMessage(content or (Text(TEXT),), stop, NATIVE), usage, "m")


@pytest.mark.parametrize(
    ("finished", "most"),
    [
        (reply(usage=Usage(5, 8)), 8),
        (reply(usage=Usage(5, 508, reasoning_tokens=500)), 8),
        (reply(usage=Usage(5, 8)), None),
        (reply(stop=Stop.MAX_TOKENS), 5),
        (reply(Text("short")), 5),
        (reply(CALL, usage=Usage(5, 8), stop=Stop.TOOL_USE), 8),
    ],
)
def test_a_reply_within_the_limit_is_left_alone(finished: Finished, most: int | None) -> None:
    assert within_limit(finished, most) is finished


@pytest.mark.parametrize(
    ("finished", "most", "text"),
    [
        (reply(usage=Usage(5, 16)), 4, TEXT[:10]),
        (reply(usage=Usage(5, 16), stop=Stop.MAX_TOKENS), 4, TEXT[:10]),
        (reply(usage=Usage(5, 26, reasoning_tokens=10)), 4, TEXT[:10]),
        (reply(), 7, TEXT[:20]),
        (reply(usage=Usage()), 7, TEXT[:20]),
        (reply(Text("漢字" * 10), usage=Usage(5, 20)), 5, "漢字漢字漢"),
        (reply(Text("Let me see."), CALL, usage=Usage(5, 22), stop=Stop.TOOL_USE), 2, "L"),
    ],
)
def test_a_longer_one_is_cut_in_proportion_and_says_so(finished: Finished, most: int, text: str) -> None:
    cut = within_limit(finished, most)
    assert cut == Finished(AssistantMessage((Text(text),), Stop.MAX_TOKENS), finished.usage, "m")


def test_a_call_that_is_too_long_is_none() -> None:
    finished = reply(CALL, usage=Usage(5, 22), stop=Stop.TOOL_USE)
    assert within_limit(finished, 2).message == AssistantMessage((), Stop.MAX_TOKENS)
