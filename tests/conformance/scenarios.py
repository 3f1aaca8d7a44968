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

_SIGNING_IN = (
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/basic-cimd",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
)

SIGNING_IN = {
    RELEASED: (
        *_SIGNING_IN,
        "auth/cross-app-access-complete-flow",
    ),
    NEXT: (
        *_SIGNING_IN,
        "auth/authorization-server-migration",
        "auth/enterprise-managed-authorization",
        "auth/iss-normalized",
        "auth/iss-not-advertised",
        "auth/iss-supported",
        "auth/iss-supported-missing",
        "auth/iss-unexpected",
        "auth/iss-wrong-issuer",
        "auth/metadata-issuer-mismatch",
    ),
}
"""Servers that want to know who asks: all but DPoP and workload identity, which are drafts."""

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
