from __future__ import annotations

import anyio
import pytest

from agent.chat.attempt import ATTEMPTS, Heard, attempt, wait_before_retry
from agent.chat.events import Retrying, TextArrived, ThinkingArrived
from agent.chat.messages import AssistantMessage, Text, user
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, ProviderError, Request, ThinkingDelta
from tests.chat.scripted import USAGE, ScriptedProvider

pytestmark = pytest.mark.anyio
REQUEST = Request((user("hi"),))


def busy(retry_after: float | None = 0.0) -> ProviderError:
    return ProviderError("rate_limit", "Busy.", retryable=True, retry_after=retry_after)


async def test_a_retryable_failure_is_tried_again_visibly() -> None:
    outbox, heard = Outbox(), Heard()
    provider = ScriptedProvider([busy()], [busy()], ["hel", "lo"])
    finished = await attempt(provider, REQUEST, outbox, heard=heard)
    assert finished == Finished(AssistantMessage((Text("hel"), Text("lo"))), USAGE, "model-1")
    assert outbox.drain() == [Retrying("Busy.", 0.0), Retrying("Busy.", 0.0), TextArrived("hello")]
    assert (heard, heard.text) == (Heard(["hel", "lo"], anything=True), "hello")
    assert provider.heard == [REQUEST] * 3


async def test_it_gives_up_after_the_last_try_with_the_last_error() -> None:
    provider = ScriptedProvider(*[[busy()] for _ in range(ATTEMPTS)])
    with pytest.raises(ProviderError, match=r"^Busy\.$"):
        await attempt(provider, REQUEST, Outbox())
    assert len(provider.heard) == ATTEMPTS


async def test_why_it_is_tried_again_is_told_in_short_and_as_often_as_that_may_help() -> None:
    outbox = Outbox()
    gone = ProviderError("connection", "Not found; look.", retryable=True, retry_after=0.0, brief="Not found.", tries=2)
    provider = ScriptedProvider([gone], [gone])
    with pytest.raises(ProviderError, match=r"^Not found; look\.$"):
        await attempt(provider, REQUEST, outbox)
    assert outbox.drain() == [Retrying("Not found.", 0.0)]
    assert len(provider.heard) == 2


async def test_what_cannot_help_is_not_tried_again() -> None:
    provider = ScriptedProvider([ProviderError("auth", "No key.")])
    with pytest.raises(ProviderError, match="No key"):
        await attempt(provider, REQUEST, Outbox())
    assert len(provider.heard) == 1


@pytest.mark.parametrize("piece", ["text", ThinkingDelta("hm")])
async def test_once_something_of_the_answer_was_seen_there_is_no_second_try(piece: str | ThinkingDelta) -> None:
    provider = ScriptedProvider([piece, busy()])
    with pytest.raises(ProviderError, match="Busy"):
        await attempt(provider, REQUEST, Outbox())
    assert len(provider.heard) == 1


async def test_a_provider_that_asks_for_too_long_a_wait_is_reported_at_once() -> None:
    outbox = Outbox()
    with pytest.raises(ProviderError) as caught:
        await attempt(ScriptedProvider([busy(86_400)]), REQUEST, outbox)
    assert str(caught.value) == "Busy. It asks to wait 86400 seconds; try again then."
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", 86_400)
    assert outbox.drain() == []


async def test_the_wait_for_another_try_can_be_cancelled() -> None:
    outbox = Outbox()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt, ScriptedProvider([busy(59)]), REQUEST, outbox)
        with anyio.fail_after(5):
            assert await anext(aiter(outbox.items)) == Retrying("Busy.", 59)
        tasks.cancel_scope.cancel()


async def test_text_carries_the_origin_it_was_asked_with() -> None:
    outbox = Outbox()
    await attempt(ScriptedProvider([ThinkingDelta("hm"), "hi"]), REQUEST, outbox, origin="notes")
    assert outbox.drain() == [ThinkingArrived("hm", "notes"), TextArrived("hi", "notes")]


async def test_a_stream_that_ends_without_its_end_is_an_error() -> None:
    class Silent(ScriptedProvider):
        async def stream(self, request):  # type: ignore[no-untyped-def,override]
            return
            yield

    with pytest.raises(ProviderError) as caught:
        await attempt(Silent(), REQUEST, Outbox())
    assert caught.value.kind == "incomplete"


def test_waits_double_within_their_spread_unless_the_provider_says_how_long() -> None:
    for tries, middle in enumerate([0.5, 1.0, 2.0, 4.0], 1):
        assert 0.75 * middle <= wait_before_retry(tries, None) <= 1.25 * middle
    assert wait_before_retry(1, 7.5) == 7.5
    assert wait_before_retry(4, -1) == 0.0
