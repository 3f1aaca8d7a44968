"""What is answered by configuration, where nobody is asked or nobody can be."""

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
    """Answers every question, so that nothing ever waits for a person: what needs one is refused, and `why` says so."""

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
    """What allows a tool. A name that would say more than itself, to us or to a shell, is not to be copied."""
    return "--yes" if set(tool) & {"*", "'"} else f"--allow '{tool}' or --yes"


def configured_answer(config: Config, form: FillForm) -> Answer | None:
    """What the configuration answers to a form; None where the person is to be asked."""
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
    """The refusal, where the configuration refuses all questions of `server`."""
    match config.form_answer(server):
        case ("decline" | "cancel") as verdict:
            return Answer(verdict, why=f"The configuration says to {verdict} the questions of {server}.")
        case _:
            return None


def fill(form: FillForm, given: dict[str, Any]) -> Answer:
    """A form filled with `given` and with its own defaults; declined where that does not make it valid."""
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
    """How `content` does not fit the form."""
    try:
        return mismatch(content, form.schema, formats=True)
    except Unusable as error:
        return f"its schema {error}"
