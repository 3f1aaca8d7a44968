"""Why somebody is not signed in, as sentences for people."""

from __future__ import annotations

from agent.mcp.exchange import Unauthorized, excerpt


class NotSignedIn(Unauthorized):
    """The server wants to know who asks, and there is nothing to tell it."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, "")


class SignInNeeded(NotSignedIn):
    """A person has to sign in, and cannot be asked here. The text says how it is done."""


class SignInFailed(NotSignedIn):
    """Signing in was tried and came to nothing. Nothing that was kept before is lost."""


class SignInDeclined(SignInFailed):
    """The person said no, or never came back."""


def needs_login(server: str, why: str = "") -> SignInNeeded:
    why = f" {why}" if why else ""
    return SignInNeeded(f"{server} wants you to sign in.{why} Run: mcp-chat login {server}")


def declined(server: str, why: str) -> SignInDeclined:
    return SignInDeclined(f"Nobody signed in to {server}: {why}. Later it goes with: mcp-chat login {server}")


def failed(server: str, why: object) -> SignInFailed:
    """`why` may quote what others said: it becomes one short line."""
    return SignInFailed(f"Signing in to {server} failed: {excerpt(str(why)).rstrip('.')}.")


def extra_missing(server: str) -> SignInFailed:
    return SignInFailed(
        f"{server} wants you to sign in, which needs the extra oauth: pip install 'mcp-chat-agent[oauth]'"
    )
