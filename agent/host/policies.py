"""Answers given by the configuration, if the person need not or cannot be asked."""

from __future__ import annotations

from typing import Any

from agent.chat.outbox import Policy
from agent.chat.questions import (
    Answer,
    ApproveSampling,
    ApproveTool,
    AwaitPage,
    FillForm,
    OpenUrl,
    Question,
    ReviewSample,
    ShareRoots,
)
from agent.host.config.config import Config
from agent.host.schemas import Unusable, mismatch


def headless_policy(config: Config) -> Policy:
    """Answers every question without a person: what would need one is refused, and `why` says so."""

    def answer(question: Question) -> Answer | None:
        match question:
            case ApproveTool(server=server, tool=tool):
                return Answer("decline", why=f"Nobody can be asked; allow it with {_flags(f'{server}/{tool}')}.")
            case ApproveSampling(server=server) | ReviewSample(server=server):
                if config.approval(server) == "allow":
                    return Answer("accept")
                return Answer("decline", why="Nobody can be asked; allow it with --sampling allow.")
            case FillForm():
                unanswered = "Nobody can be asked; answer it with --elicit defaults or a file of answers."
                return configured_answer(config, question) or Answer("cancel", why=unanswered)
            case OpenUrl(server=server):
                unopened = "Nobody can be asked to open an address."
                return refused(config, server) or Answer("decline", why=unopened)
            case AwaitPage():
                return Answer("cancel", why="Nobody can be asked to open an address.")
            case ShareRoots(server=server):
                unnamed = f"Nobody can be asked; name the folders with roots under [servers.{server}]."
                return Answer("decline", why=unnamed)

    return answer


def _flags(tool: str) -> str:
    """The options that allow a tool. A name with `*` or a quote is not safe to put into a pattern."""
    return "--yes" if set(tool) & {"*", "'"} else f"--allow '{tool}' or --yes"


def configured_answer(config: Config, form: FillForm) -> Answer | None:
    """The configured answer to a form; None if the person is to be asked."""
    match config.form_answer(form.server):
        case "ask":
            return None
        case "decline" | "cancel":
            return refused(config, form.server)
        case "defaults":
            return fill(form, {})
        case path:
            return fill(form, config.answers.get(path, {}).get(form.server, {}))


def refused(config: Config, server: str) -> Answer | None:
    """A refusal if the configuration refuses all elicitation of `server`, else None."""
    match config.form_answer(server):
        case ("decline" | "cancel") as verdict:
            return Answer(verdict, why=f"The configuration says to {verdict} the questions of {server}.")
        case _:
            return None


def fill(form: FillForm, given: dict[str, Any]) -> Answer:
    """The form filled in with `given` and its own defaults; declined if the result is invalid."""
    properties = form.schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    content = {
        name: field["default"] for name, field in fields.items() if isinstance(field, dict) and "default" in field
    }
    content |= {name: value for name, value in given.items() if name in fields}
    if fault := form_fault(form, content):
        return Answer("decline", why=f"The configured answers do not fill the form of {form.server}: {fault}.")
    return Answer("accept", content)


def form_fault(form: FillForm, content: dict[str, Any]) -> str | None:
    """Why `content` is not valid for the form; None if it is."""
    try:
        return mismatch(content, form.schema, formats=True)
    except Unusable as error:
        return f"its schema {error}"
