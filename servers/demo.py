"""A server to learn from: an example of each feature a server can offer, in a few lines each.

Run it with `python -m servers.demo`; it speaks JSON-RPC on stdin and stdout, so a line may also be pasted by hand.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated, Literal

import anyio

from agent.mcp import Context, Server
from servers.demo_pages import pages

VISIT_SECONDS = 100.0  # the time a user has for a page

server = Server(
    "demo",
    title="Demo",
    lifespan=pages,
    instructions="Tools to try out what a server can do: sums, progress, questions to the person and to the model.",
)

SIGHTS = {"Lisbon": ["Belém Tower", "Alfama"], "Kyoto": ["Fushimi Inari", "Nishiki Market"], "Oslo": ["Opera House"]}
BOOKINGS: list[str] = []
FOCUSES = ["correctness", "performance", "readability", "security", "style"]


@server.tool(annotations={"readOnlyHint": True})
async def echo(message: str) -> str:
    """Say the message back."""
    return message


@server.tool(annotations={"readOnlyHint": True})
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def long_task(ctx: Context, seconds: float = 5, steps: Annotated[int, "How often to report"] = 5) -> str:
    """Work for a while, report progress, and stop when cancelled."""
    for step in range(1, steps + 1):
        await anyio.sleep(seconds / steps)
        await ctx.progress(step, steps, f"step {step} of {steps}")
    return f"Done: {steps} steps in {seconds:g} seconds."


@dataclass
class Seat:
    """The form `book_seat` asks the person."""

    place: Literal["window", "aisle"]
    meal: bool = False


@server.tool
async def book_seat(ctx: Context, train: str) -> str:
    """Book a seat on a train; the person is asked which."""
    answer = await ctx.elicit(f"Which seat on {train}?", Seat)
    if answer.action != "accept":
        return f"No seat was booked on {train}."
    seat = answer.content
    BOOKINGS.append(f"{train}: {seat.place}, {'with' if seat.meal else 'without'} a meal")
    server.notify_resource_updated("demo://bookings")
    await ctx.log("info", f"seats booked: {len(BOOKINGS)}")
    return f"Booked on {BOOKINGS[-1]}."


@server.tool
async def link_account(ctx: Context, service: str) -> str:
    """Link an account with a service; the person agrees on a page in the browser, which the client does not see."""
    page = await ctx.once("page", lambda: ctx.lifespan.open(f"Link your {service} account with the demo?"))
    visit = await ctx.visit(f"Please link your {service} account.", page)
    if visit.action != "accept":
        return f"The {service} account was not linked."
    await ctx.progress(0, message=f"waiting for the page {page}")
    if not await ctx.lifespan.finished(page, VISIT_SECONDS):
        return f"The {service} account was not linked: nobody agreed on the page in {VISIT_SECONDS:g} seconds."
    await ctx.finished(visit)
    return f"The {service} account is linked."


@server.tool
async def summarize(ctx: Context, text: str) -> str:
    """Summarize a text with the client's own model."""
    summary = await ctx.sample(f"Summarize in one sentence:\n\n{text}", max_tokens=200)
    return summary.text


@server.tool
async def plan_trip(ctx: Context, city: str) -> str:
    """Plan a day in a city: the client's model plans, and asks two tools of ours for what it needs."""
    question = f"Plan a day in {city} in three sentences. Look up the weather and the sights first."
    plan = await ctx.sample(question, tools=[weather, sights], max_tokens=500)
    return plan.text


def weather(city: str) -> str:
    """The weather in a city today."""
    return f"{city}: {random.choice(['sunny', 'cloudy', 'rain'])}, {random.randint(8, 28)} °C"


def sights(city: str) -> list[str]:
    """What to see in a city."""
    return SIGHTS.get(city, ["the old town", "the market"])


@server.prompt
async def code_review(code: str, focus: str = "correctness") -> str:
    """Review a piece of code.

    Args:
        code: The code
        focus: What to look at first
    """
    return f"Review this code. Look at its {focus} first.\n\n{code}"


@server.completion("code_review", "focus")
async def focuses(value: str) -> list[str]:
    return [focus for focus in FOCUSES if focus.startswith(value)]


@server.resource("file:///data/readme.txt")
async def readme() -> str:
    """What this server is."""
    return "This is the demo server. Ask it to add numbers, to book a seat, or to summarize a text.\n"


@server.resource("demo://bookings")
async def bookings() -> list[str]:
    """The seats booked so far. Whoever subscribes is told of each new one."""
    return BOOKINGS


@server.resource("demo://sights/{city}")
async def city_sights(city: str) -> list[str] | None:
    """What to see in a city."""
    return SIGHTS.get(city)


@server.completion("demo://sights/{city}", "city")
async def cities(value: str) -> list[str]:
    return [city for city in SIGHTS if city.lower().startswith(value.lower())]


if __name__ == "__main__":
    server.run()
