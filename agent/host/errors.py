"""What can go wrong for somebody who uses the host by hand. Every text is a sentence for people."""

from __future__ import annotations


class HostError(Exception):
    """What was asked for is not there, or not to be had."""


class ServerUnavailable(HostError):
    """A server cannot be asked, or did not answer in time. The text names it."""
