"""Which runs of the official conformance suite are ours to pass, by the version of the suite."""

from __future__ import annotations

RELEASED, NEXT = "0.1.16", "0.2.0-alpha.12"

SERVER = (
    (RELEASED, ("--suite", "all")),
    (NEXT, ("--suite", "all")),
    (NEXT, ("--suite", "all", "--spec-version", "2025-11-25")),
    (NEXT, ("--suite", "all", "--spec-version", "2026-07-28")),
)
"""All scenarios, each in the revisions it is about, and then all that a revision has."""

CLIENT = {
    RELEASED: ("initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"),
    NEXT: (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "sep-2322-client-request-state",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
"""Each is run alone, since some of them measure time."""

HOST = {
    RELEASED: CLIENT[RELEASED],
    NEXT: (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "request-metadata",
        "http-standard-headers",
        "http-invalid-tool-headers",
        "sep-2322-client-request-state",
    ),
}
"""What the host passes with a file of answers in the place of a person."""
