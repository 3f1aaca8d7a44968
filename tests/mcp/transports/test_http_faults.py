"""What goes wrong on the network, in sentences."""

from __future__ import annotations

import socket
import ssl

import httpx2
import pytest

from agent.mcp.transports.http_faults import Misconfigured, lost

URL = "https://example.com/mcp?key=secret"
SHOWN = "The server at https://example.com/mcp?key=…"


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "failed")
    error.verify_message = "self-signed certificate"
    return error


def connect(cause: BaseException) -> Exception:
    return caused(httpx2.ConnectError("all connection attempts failed"), cause)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (connect(untrusted()), "has a certificate that is not trusted: self-signed certificate."),
        (
            connect(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")),
            "does not speak TLS as expected ([SSL: WRONG_VERSION_NUMBER] wrong version number); check the scheme.",
        ),
        (
            connect(socket.gaierror(-2, "Name or service not known")),
            "cannot be found: the name in https://example.com has no address; check the URL.",
        ),
        (
            connect(ExceptionGroup("tried", [OSError("no route"), ConnectionRefusedError()])),
            "refused the connection; is it running?",
        ),
        (connect(OSError("no route")), "cannot be reached; check the URL and the network."),
        (
            httpx2.ConnectTimeout("t"),
            "did not take the connection in time; check the URL and the network.",
        ),
        (httpx2.WriteTimeout("t"), "did not answer in time."),
        (httpx2.ProxyError("407"), "cannot be reached through the proxy (407)."),
        (
            httpx2.LocalProtocolError("Illegal header value"),
            "cannot be asked: a header or the URL holds what HTTP does not allow (Illegal header value).",
        ),
        (
            httpx2.UnsupportedProtocol(""),
            "has no usable URL: it needs http:// or https://, a host and, if any, a numeric port.",
        ),
        (Misconfigured("the proxy is odd"), "cannot be asked: the proxy is odd."),
        (KeyError("token"), "cannot be asked (KeyError: 'token')."),
        (httpx2.ReadError(""), "closed the connection in the middle of an answer."),
        (httpx2.RemoteProtocolError("Server disconnected"), "closed the connection in the middle of an answer."),
    ],
)
def test_a_fault_is_a_sentence_that_names_the_server(error: Exception, sentence: str) -> None:
    assert str(lost(URL, error)) == f"{SHOWN} {sentence}"


def test_exceptions_in_a_circle_come_to_an_end() -> None:
    first, second = httpx2.ReadError("a"), OSError("b")
    first.__cause__, second.__cause__ = second, first
    assert str(lost(URL, first)) == f"{SHOWN} closed the connection in the middle of an answer."
