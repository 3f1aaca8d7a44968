"""Errors of an HTTP connection, each as one sentence that says what to do."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx2

from agent.mcp.exchange import Unreachable, named, origin


class Misconfigured(Exception):
    """The environment names a proxy or certificates that cannot be used. The text is a clause that says which."""


def lost(url: str, error: Exception) -> Unreachable:
    """The error, with a sentence, for an exception of a request to `url`: of httpx2, or any of an `httpx2.Auth`."""
    server = named(url)
    if isinstance(error, Misconfigured):
        return Unreachable(f"{server} cannot be asked: {error}.")
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return Unreachable(f"{server} has a certificate that is not trusted: {cause.verify_message}.")
            case ssl.SSLError():
                return Unreachable(f"{server} does not speak TLS as expected ({cause.strerror}); check the scheme.")
            case socket.gaierror():
                return Unreachable(
                    f"{server} cannot be found: the name in {origin(url)} has no address; check the URL."
                )
            case ConnectionRefusedError():
                return Unreachable(f"{server} refused the connection; is it running?")
    return Unreachable(f"{server} {_in_words(error)}.")


def _in_words(error: Exception) -> str:
    match error:
        case httpx2.ConnectTimeout():
            return "did not take the connection in time; check the URL and the network"
        case httpx2.TimeoutException():
            return "did not answer in time"
        case httpx2.ConnectError():
            return "cannot be reached; check the URL and the network"
        case httpx2.ProxyError():
            return f"cannot be reached through the proxy ({error})"
        case httpx2.LocalProtocolError() | UnicodeError():
            return f"cannot be asked: a header or the URL holds what HTTP does not allow ({error})"
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return "has no usable URL: it needs http:// or https://, a host and, if any, a numeric port"
        case httpx2.HTTPError():
            return "closed the connection in the middle of an answer"
    return f"cannot be asked ({type(error).__name__}: {error})"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, its causes, and the members of exception groups among them."""
    seen = 0
    waiting = [error]
    while waiting and seen < 50:
        error = waiting.pop()
        if error is None:
            continue
        seen += 1
        yield error
        waiting += [error.__cause__, error.__context__]
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions
