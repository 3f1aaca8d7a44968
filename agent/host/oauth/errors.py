"""Why the person is not signed in, as sentences for people."""

from __future__ import annotations

import errno

from agent.host.oauth.party import Party
from agent.mcp.exchange import Unauthorized, excerpt


class NotSignedIn(Unauthorized):
    """The server requires authorization, and there is no valid token."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, "")


class SignInNeeded(NotSignedIn):
    """A person has to sign in, but cannot be asked here. The text says how to do it."""


class SignInFailed(NotSignedIn):
    """Signing in was tried and failed. What was stored before is kept."""


class SignInDeclined(SignInFailed):
    """The person declined, or did not complete the sign-in in time."""


class PortTaken(SignInFailed):
    """The port of the redirect URI is not available."""


def needs_login(party: Party, why: str = "") -> SignInNeeded:
    why = f" {why}" if why else ""
    return SignInNeeded(f"{party.name} wants you to sign in.{why} Run: {party.login_command}")


def declined(server: str, why: str) -> SignInDeclined:
    return SignInDeclined(f"Nobody signed in to {server}: {why}.")


def failed(server: str, why: object) -> SignInFailed:
    """`why` may quote remote text: it is shortened to one line."""
    return SignInFailed(f"Signing in to {server} failed: {excerpt(str(why)).rstrip('.')}.")


def port_taken(server: str, port: int, error: OSError) -> PortTaken:
    taken = error.errno == errno.EADDRINUSE
    why = "is in use by another program" if taken else f"cannot be used: {error.strerror}"
    return PortTaken(f"Signing in to {server} failed: port {port}, to which its page leads back, {why}.")


def client_refused(party: Party, why: object) -> SignInFailed:
    """The authorization server rejects the client's credentials."""
    options, sentence = party.options, str(failed(party.name, why))
    if options.client_id is None:
        return SignInFailed(sentence)
    proof = "private_key" if options.private_key else "client_secret"
    return SignInFailed(f"{sentence} Check client_id and {proof} in [servers.{party.name}.oauth].")


def client_missing(party: Party, issuer: str) -> SignInFailed:
    """The authorization server has no dynamic client registration (section "Client Registration Approaches")."""
    return SignInFailed(
        f"Signing in to {party.name} failed: {excerpt(issuer)} registers no clients by itself. "
        f"Register one there by hand, and put its client_id into [servers.{party.name}.oauth]."
    )


def extra_missing(server: str) -> SignInFailed:
    return SignInFailed(
        f"{server} wants you to sign in, which needs the extra oauth: pip install 'mcp-chat-agent[oauth]'"
    )
