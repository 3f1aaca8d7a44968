"""Our client in the `auth/*` scenarios of the official conformance suite: signs in by itself, where a person would."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2

from agent.chat.questions import Answer, FillForm, OpenUrl
from agent.host.oauth.access import Access
from agent.host.oauth.browser import Browsing
from agent.host.oauth.party import Party
from agent.host.oauth.store import open_store
from agent.host.oauth.table import OAuthTable
from agent.mcp.client.client import Client
from agent.mcp.transports.http_client import http

DOCUMENT = "https://conformance-test.local/client-metadata.json"
ENTERPRISE = ("auth/enterprise-managed-authorization", "auth/cross-app-access-complete-flow")
ID_TOKEN, ID_JAG = "urn:ietf:params:oauth:token-type:id_token", "urn:ietf:params:oauth:token-type:id-jag"


async def run_auth_scenario(scenario: str, url: str, context: Mapping[str, Any], protocol: str = "auto") -> None:
    """List the tools of the server at `url` and call the first one, signing in as often as that takes."""
    with tempfile.TemporaryDirectory() as folder:
        await _use(url, protocol, await _auth(scenario, url, context, Path(folder)))


async def _use(url: str, protocol: str, auth: httpx2.Auth) -> None:
    async with Client(http(url, auth=auth), protocol=protocol) as client:
        tools = await client.list_tools()
        if tools:
            await client.call_tool(tools[0].name, {})


async def _auth(scenario: str, url: str, context: Mapping[str, Any], folder: Path) -> httpx2.Auth:
    if scenario in ENTERPRISE:
        return _enterprise(url, context)
    options: dict[str, Any] = {"client_metadata_url": DOCUMENT}
    if "client_id" in context:
        options = {"client_id": context["client_id"]}
    if "client_secret" in context:
        options["client_secret"] = context["client_secret"]
    if scenario.startswith("auth/client-credentials"):
        options["grant"] = "client_credentials"
    if "private_key_pem" in context:
        key = anyio.Path(folder / "key.pem")
        await key.write_text(context["private_key_pem"])
        options |= {"private_key": str(key), "algorithm": context.get("signing_algorithm", "ES256")}
    party = Party("conformance", url, OAuthTable.model_validate(options))
    browsing = Browsing("conformance", _agree, _visit)
    return Access(party, open_store(folder, lambda: None), folder, browsing.redirecting)


async def _agree(question: OpenUrl | FillForm) -> Answer:
    return Answer("accept")


async def _visit(url: str) -> bool:
    """A browser that goes where it is sent, and comes back to us."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        return (await browser.get(url, follow_redirects=True)).status_code < 500


def _enterprise(url: str, context: Mapping[str, Any]) -> httpx2.Auth:
    """Signed in to elsewhere: the identity provider's word is exchanged for one that the server's own side takes."""
    from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

    from agent.host.oauth.provider import Nowhere

    async def assertion(audience: str, resource: str) -> str:
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": ID_JAG,
            "audience": audience,
            "resource": resource,
            "subject_token": context["idp_id_token"],
            "subject_token_type": ID_TOKEN,
            "client_id": context["idp_client_id"],
        }
        async with httpx2.AsyncClient() as client:
            answer = await client.post(context["idp_token_endpoint"], data=form)
        return str(answer.raise_for_status().json()["access_token"])

    return IdentityAssertionOAuthProvider(
        server_url=url,
        storage=Nowhere(),
        client_id=context["client_id"],
        client_secret=context["client_secret"],
        issuer=context.get("auth_server_issuer") or _issuer_of(url),
        assertion_provider=assertion,
        token_endpoint_auth_method="client_secret_basic",
    )


def _issuer_of(url: str) -> str:
    """The suite does not say which authorization server it is; the server's description does."""
    parsed = httpx2.URL(url)
    described = parsed.copy_with(path=f"/.well-known/oauth-protected-resource{parsed.path.rstrip('/')}")
    return str(httpx2.get(described).raise_for_status().json()["authorization_servers"][0])
