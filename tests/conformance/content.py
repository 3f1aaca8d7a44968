"""What the official suite wants to see of tools, resources and prompts that ask nobody."""

from __future__ import annotations

import base64
from typing import Annotated, Any

import anyio

from agent.mcp import Audio, Context, Header, Image, Server

RED_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SILENCE = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
PAUSE_SECONDS = 0.05

ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
CONTACT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def embedded(uri: str, mime_type: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


async def test_simple_text() -> str:
    """Return a plain text."""
    return "This is a simple text response for testing."


async def test_image_content() -> Image:
    """Return a picture."""
    return Image(RED_PIXEL)


async def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(SILENCE)


async def test_embedded_resource() -> Any:
    """Return a resource within the result."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")


async def test_multiple_content_types() -> Any:
    """Return content of three kinds."""
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    return ["Multiple content types test:", Image(RED_PIXEL), resource]


async def test_error_handling() -> str:
    """Fail."""
    raise RuntimeError("This tool intentionally returns an error for testing")


async def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.log("info", message)
        await anyio.sleep(PAUSE_SECONDS)
    return "Logged."


async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await ctx.progress(done, 100)
        await anyio.sleep(PAUSE_SECONDS)
    return "Done."


async def test_logging_tool(ctx: Context) -> str:
    """Log one message."""
    await ctx.log("info", "A message for those who want it")
    return "Logged."


async def test_reconnection(ctx: Context) -> str:
    """Let the client hang up, and answer when it is back."""
    await ctx.release()
    await anyio.sleep(2 * PAUSE_SECONDS)
    return "Reconnection test completed successfully."


async def test_x_mcp_header(region: Annotated[str | None, Header("Region")] = None) -> str:  # noqa: PT028  # no test
    """Take an argument that is mirrored in a header."""
    return f"region: {region}"


async def json_schema_2020_12_tool(
    name: str = "", address: dict[str, str] | None = None, contactMethod: str = "", phone: str = "", email: str = ""
) -> str:
    """Take arguments whose schema says more than types can."""
    return f"{name} {address} {contactMethod} {phone} {email}"


async def static_text() -> str:
    """A text that never changes."""
    return "This is the content of the static text resource."


async def static_binary() -> bytes:
    """A picture that never changes."""
    return RED_PIXEL


async def watched() -> str:
    """A text to subscribe to."""
    return "Watched resource content"


async def template(id: str) -> dict[str, Any]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:
    """A prompt with a resource in it."""
    resource = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [("user", resource), "Please process the embedded resource above."]


async def test_prompt_with_image() -> list[Any]:
    """A prompt with a picture in it."""
    return [("user", Image(RED_PIXEL)), "Please analyze the image above."]


async def suggest(value: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


TOOLS = (
    test_simple_text, test_image_content, test_audio_content, test_embedded_resource, test_multiple_content_types,
    test_error_handling, test_tool_with_logging, test_tool_with_progress, test_logging_tool, test_reconnection,
    test_x_mcp_header,
)  # fmt: skip
PROMPTS = (
    test_simple_prompt, test_prompt_with_arguments, test_prompt_with_embedded_resource, test_prompt_with_image,
)  # fmt: skip


def register(server: Server) -> None:
    for tool in TOOLS:
        server.tool(tool)
    server.tool(input_schema=CONTACT_SCHEMA)(json_schema_2020_12_tool)
    for prompt in PROMPTS:
        server.prompt(prompt)
    server.completion("test_prompt_with_arguments", "arg1")(suggest)
    server.resource("test://static-text")(static_text)
    server.resource("test://static-binary", mime_type="image/png")(static_binary)
    server.resource("test://watched-resource")(watched)
    server.resource("test://template/{id}/data", mime_type="application/json")(template)
