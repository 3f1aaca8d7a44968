"""`toolChoice`, kept by models that can be made to and by those that cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.chat.messages import AssistantMessage, Stop, Text, ToolCall, Usage, user
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, ProviderError, Request, ToolSpec
from agent.host.sampling.tools import CALL_ONE, ask_model
from tests.chat.scripted import USAGE, Piece, ScriptedProvider

pytestmark = pytest.mark.anyio

REQUEST = Request((user("?"),), tools=(ToolSpec("t", "", {}),), tool_choice="required")
CALL = ToolCall("c", "t", {})


async def ask(request: Request, *replies: list[Piece]) -> tuple[Finished, list[Request]]:
    provider = ScriptedProvider(*replies)
    finished = await ask_model(provider, request, Outbox(), "notes")
    return finished, provider.heard


async def test_a_model_that_calls_is_asked_once() -> None:
    finished, heard = await ask(REQUEST, [CALL])
    assert (finished.message.tool_calls, finished.usage, heard) == ((CALL,), USAGE, [REQUEST])


async def test_one_that_does_not_is_asked_once_more_and_both_are_counted() -> None:
    finished, heard = await ask(REQUEST, ["Well."], ["Now: ", CALL])
    assert finished.message.content == (Text("Now: "), CALL)
    assert finished.usage == Usage(20, 4)
    assert heard[1] == replace(
        REQUEST, messages=(*REQUEST.messages, AssistantMessage((Text("Well."),)), user(CALL_ONE))
    )


async def test_an_empty_reply_is_not_repeated_to_it() -> None:
    _, heard = await ask(REQUEST, [], [CALL])
    assert heard[1].messages == (*REQUEST.messages, user(CALL_ONE))


async def test_one_that_never_does_is_an_error_in_a_sentence() -> None:
    with pytest.raises(ProviderError, match=r"^scripted/model was to call a tool, and did not\.$"):
        await ask(REQUEST, ["No."], ["No!"])


@pytest.mark.parametrize("stop", [Stop.MAX_TOKENS, Stop.REFUSAL, Stop.STOP_SEQUENCE])
async def test_a_reply_that_was_cut_or_refused_is_not_asked_again(stop: Stop) -> None:
    finished, heard = await ask(REQUEST, ["So", stop])
    assert (finished.message.text, finished.message.stop, len(heard)) == ("So", stop, 1)


async def test_a_model_that_must_not_call_has_not_called() -> None:
    finished, _ = await ask(replace(REQUEST, tool_choice="none"), ["Done.", CALL])
    assert finished.message == AssistantMessage((Text("Done."),))


async def test_a_model_that_may_choose_is_left_alone() -> None:
    finished, heard = await ask(replace(REQUEST, tool_choice="auto"), ["Done."])
    assert (finished.message.text, len(heard)) == ("Done.", 1)


async def test_every_reply_keeps_to_the_limit_before_two_of_them_are_counted_together() -> None:
    finished, heard = await ask(replace(REQUEST, max_tokens=2), ["Well."], ["Now: ", CALL])
    assert (finished.message.tool_calls, finished.usage, len(heard)) == ((CALL,), Usage(20, 4), 2)
    cut, heard = await ask(replace(REQUEST, max_tokens=1), ["Well, well."])
    assert (cut.message, len(heard)) == (AssistantMessage((Text("Well,"),), Stop.MAX_TOKENS), 1)
