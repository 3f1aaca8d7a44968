"""What the official suite wants to be asked, in either era."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from agent.mcp import Context, Server

STATUSES = ["active", "inactive", "pending"]
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": STATUSES, "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [
    {"const": f"value{number}", "title": f"{which} Option"} for number, which in enumerate(("First", "Second"), 1)
]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
}


def form(fields: Mapping[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields)} | ({"required": required} if required else {})


def asking(name: str, kind: str = "string") -> dict[str, Any]:
    """A form with one field."""
    return form({name: {"type": kind}}, [name])


async def ask_name(ctx: Context, key: str = "user_name", message: str = "What is your name?") -> str:
    answer = await ctx.elicit(message, asking("name"), key=key)
    return str(answer.content["name"]) if answer.content else "nobody"


async def test_sampling(ctx: Context, prompt: str) -> str:
    """Ask the client's model."""
    return f"LLM response: {(await ctx.sample(prompt, max_tokens=100)).text}"


async def test_elicitation(ctx: Context, message: str) -> str:
    """Ask the person for a name and an address."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = await ctx.elicit(message, form(fields, ["username", "email"]))
    return f"User response: action={answer.action}, content={answer.content}"


async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask a form whose fields have defaults."""
    answer = await ctx.elicit("Please review and update the form fields", form(DEFAULTS))
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask a form with every kind of choice."""
    answer = await ctx.elicit("Please choose", form(ENUMS))
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


async def test_missing_capability(ctx: Context) -> str:
    """Need a model."""
    return (await ctx.sample("Anything", max_tokens=10)).text


async def test_streaming_elicitation(ctx: Context) -> str:
    """Report progress, then ask."""
    await ctx.progress(1, 2)
    return f"Hello, {await ask_name(ctx)}!"


async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask for a name."""
    return f"Hello, {await ask_name(ctx)}!"


async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the model."""
    return (await ctx.sample("What is the capital of France?", max_tokens=100, key="capital_question")).text


async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the client's roots."""
    return ", ".join(root.uri for root in await ctx.roots(key="client_roots"))


async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for a confirmation that comes back with what this server sealed."""
    answer = await ctx.elicit("Please confirm", asking("ok", "boolean"), key="confirm")
    return f"state-ok: {answer.action}"


async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for a confirmation whose seal the client is going to break."""
    answer = await ctx.elicit("Please confirm", asking("ok", "boolean"), key="confirm")
    return f"not tampered with: {answer.action}"


async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask the person, the model and the client at once."""
    said: list[str] = []

    async def ask_person() -> None:
        said.append(await ask_name(ctx))

    async def ask_model() -> None:
        said.append((await ctx.sample("Generate a greeting", max_tokens=50, key="greeting")).text)

    async def ask_client() -> None:
        said.extend(root.uri for root in await ctx.roots(key="client_roots"))

    async with anyio.create_task_group() as tasks:
        for ask in (ask_person, ask_model, ask_client):
            tasks.start_soon(ask)
    return ", ".join(said)


async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after the other."""
    name = await ask_name(ctx, "step1", "Step 1: What is your name?")
    color = await ctx.elicit("Step 2: What is your favorite color?", asking("color"), key="step2")
    return f"{name} likes {color.content}."


async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client says that it answers."""
    if "sampling" in ctx.client_capabilities:
        return (await ctx.sample("Say anything", max_tokens=10, key="anything")).text
    if "elicitation" in ctx.client_capabilities:
        return await ask_name(ctx)
    return "There is nobody to ask."


async def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that asks for its context."""
    question = "What context should the prompt use?"
    answer = await ctx.elicit(question, asking("context"), key="user_context")
    return f"Use this context: {answer.content}"


TOOLS = (
    test_sampling, test_elicitation, test_elicitation_sep1034_defaults, test_elicitation_sep1330_enums,
    test_missing_capability, test_streaming_elicitation, test_input_required_result_elicitation,
    test_input_required_result_sampling, test_input_required_result_list_roots,
    test_input_required_result_request_state, test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs, test_input_required_result_multi_round,
    test_input_required_result_capabilities,
)  # fmt: skip


def register(server: Server) -> None:
    for tool in TOOLS:
        server.tool(tool)
    server.prompt(test_input_required_result_prompt)
