"""One model request, with retries that are reported as events and can be cancelled."""

from __future__ import annotations

import random
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count

import anyio

from agent.chat.events import Retrying, TextArrived, ThinkingArrived
from agent.chat.outbox import Outbox
from agent.chat.provider import Finished, Provider, ProviderError, Request, TextDelta, ThinkingDelta

ATTEMPTS = 5
FIRST_WAIT = 0.5  # seconds; doubled with each further attempt
LONGEST_WAIT = 60.0  # seconds; if the provider asks for a longer wait, there is no retry


@dataclass(slots=True)
class Heard:
    """The part of a reply received so far. `anything` is also true for thinking, which is not part of the text."""

    pieces: list[str] = field(default_factory=list)
    anything: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)


async def attempt(
    provider: Provider, request: Request, outbox: Outbox, *, origin: str = "", heard: Heard | None = None
) -> Finished:
    """Send the request, and retry it while the error is retryable and no part of a reply has arrived yet.

    Text is emitted to the outbox as it arrives, marked with `origin`, and recorded in `heard`, so that a caller that
    is cancelled still has it.

    Raises:
        ProviderError: the error of the last attempt.
    """
    heard = heard or Heard()
    for tries in count(1):
        try:
            return await _once(provider, request, outbox, origin, heard)
        except ProviderError as error:
            if heard.anything or not error.retryable or tries >= (error.tries or ATTEMPTS):
                raise
            await _wait(tries, error, outbox)
    raise AssertionError("unreachable")


async def _once(provider: Provider, request: Request, outbox: Outbox, origin: str, heard: Heard) -> Finished:
    async with aclosing(provider.stream(request)) as items:
        async for item in items:
            match item:
                case TextDelta(text):
                    heard.anything = True
                    heard.pieces.append(text)
                    outbox.emit(TextArrived(text, origin))
                case ThinkingDelta(text):
                    heard.anything = True
                    outbox.emit(ThinkingArrived(text, origin))
                case Finished():
                    return item
    raise ProviderError("incomplete", f"{provider.name} ended its reply without finishing it; try again.")


async def _wait(tries: int, error: ProviderError, outbox: Outbox) -> None:
    seconds = wait_before_retry(tries, error.retry_after)
    if seconds > LONGEST_WAIT:
        raise ProviderError(
            error.kind, f"{error} It asks to wait {seconds:.0f} seconds; try again then.", retry_after=seconds
        ) from error
    outbox.emit(Retrying(error.brief, seconds))
    await anyio.sleep(seconds)


def wait_before_retry(tries: int, retry_after: float | None) -> float:
    """Seconds to wait: as requested by the provider, else exponential backoff with jitter."""
    if retry_after is not None:
        return max(0.0, retry_after)
    return float(FIRST_WAIT * 2 ** (tries - 1) * random.uniform(0.75, 1.25))
