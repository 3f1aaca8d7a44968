from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import respx

from agent.chat.messages import user
from agent.chat.provider import ProviderError, Request
from agent.providers.registry import DEFAULT_MODELS, ProviderConfig, open_provider
from tests.providers.wire import CHAT, MESSAGES, RESPONSES, SSE, Api, Reply, heard

pytestmark = pytest.mark.anyio

ASK = Request((user("hi"),))


@pytest.mark.parametrize(
    ("config", "adapter", "url"),
    [
        (ProviderConfig("openai", "openai", api_key="k"), "OpenAIResponses", "https://api.openai.com/v1"),
        (ProviderConfig("openai", "openai", api="chat", api_key="k"), "OpenAIChat", "https://api.openai.com/v1"),
        (ProviderConfig("local", "openai", base_url="http://x/v1"), "OpenAIChat", "http://x/v1"),
        (ProviderConfig("local", "openai", api="responses", base_url="http://x/v1"), "OpenAIResponses", "http://x/v1"),
        (ProviderConfig("anthropic", "anthropic", api_key="k"), "AnthropicMessages", "https://api.anthropic.com"),
        (ProviderConfig("mock", "mock"), "MockProvider", ""),
    ],
)
def test_the_adapter_follows_from_kind_api_and_base_url(config: ProviderConfig, adapter: str, url: str) -> None:
    provider = open_provider(config, "demo")
    assert type(provider).__name__ == adapter
    assert provider.name == f"{config.name}/demo"
    assert not url or config.url == url


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (ProviderConfig("openai", "openai"),
         "There is no API key for openai: set OPENAI_API_KEY, or api_key under [providers.openai]."),
        (ProviderConfig("claude", "anthropic", api_key=""),
         "There is no API key for claude: set ANTHROPIC_API_KEY, or api_key under [providers.claude]."),
        (ProviderConfig("mine", "openai", base_url="https://api.openai.com/v1/"),
         "There is no API key for mine: set OPENAI_API_KEY, or api_key under [providers.mine]."),
    ],
)  # fmt: skip
def test_a_missing_key_is_told(config: ProviderConfig, sentence: str) -> None:
    with pytest.raises(ProviderError) as caught:
        open_provider(config, "m")
    assert (caught.value.kind, str(caught.value)) == ("missing", sentence)


@pytest.mark.parametrize("url", ["nonsense", "http://[bad", "ftp://host/v1", "http:///v1", "localhost:11434/v1"])
def test_a_base_url_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ProviderError) as caught:
        open_provider(ProviderConfig("local", "openai", base_url=url), "m")
    assert str(caught.value) == f"The base_url {url!r} of local is no address: write http://HOST or https://HOST."


async def test_the_environment_neither_redirects_nor_adds_a_key(
    router: respx.MockRouter, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_BASE_URL", "https://evil.test")
        monkeypatch.setenv(f"{name}_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    router.post(api.url).respond(200, headers=SSE, content=api.encode(Reply(("ok",))))
    await heard(api.open(), ASK)
    headers = router.calls.last.request.headers
    assert headers["authorization"] == f"Bearer {api.config.api_key or 'none'}"
    assert "x-api-key" not in headers
    assert headers.get("openai-organization") == ("org-of-the-environment" if api is RESPONSES else None)


async def test_configured_headers_are_sent(router: respx.MockRouter, api: Api) -> None:
    config = ProviderConfig(api.config.name, api.config.kind, api.config.api, "k", api.config.base_url,
                            headers={"X-Team": "blue"})  # fmt: skip
    router.post(api.url).respond(200, headers=SSE, content=api.encode(Reply(("ok",))))
    await heard(open_provider(config, api.model), ASK)
    assert router.calls.last.request.headers["x-team"] == "blue"


async def test_betas_of_the_user_and_of_the_adapter_go_together(router: respx.MockRouter) -> None:
    config = ProviderConfig("anthropic", "anthropic", api_key="k", headers={"Anthropic-Beta": "mine-2026"})
    router.post(MESSAGES.url).respond(200, headers=SSE, content=MESSAGES.encode(Reply(("ok",))))
    await heard(open_provider(config, MESSAGES.model), ASK)
    betas = router.calls.last.request.headers.get_list("anthropic-beta")
    assert betas == ["mine-2026,thinking-binding-controls-2026-08-01"]


@pytest.mark.parametrize("base_url", ["http://claude.test", "http://claude.test/", "http://claude.test/v1"])
async def test_an_anthropic_base_url_may_end_in_v1(router: respx.MockRouter, base_url: str) -> None:
    router.post("http://claude.test/v1/messages").respond(200, headers=SSE, content=MESSAGES.encode(Reply(("ok",))))
    config = ProviderConfig("local", "anthropic", base_url=base_url)
    assert len(await heard(open_provider(config, "m"), ASK)) == 2


@pytest.mark.parametrize(("kind", "model"), DEFAULT_MODELS.items())
def test_default_models_can_be_opened(kind: Any, model: str) -> None:
    assert open_provider(ProviderConfig(kind, kind, api_key="k"), model).name == f"{kind}/{model}"


def test_an_open_provider_says_how_many_tools_it_takes() -> None:
    assert [vars(type(api.open()))["max_tools"] for api in (CHAT, RESPONSES, MESSAGES)] == [128, 128, None]


# What is imported when


def run(code: str) -> Any:
    """The output of a fresh interpreter, as JSON."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=50
    )
    return json.loads(done.stdout)


OPEN = """
import json, sys
from agent.providers.registry import ProviderConfig, open_provider, warm_up
for kind in ("openai", "anthropic"):
    for api in ("responses", "chat"):
        open_provider(ProviderConfig(kind, kind, api, "k"), "m")
"""
LOADED = "print(json.dumps(sorted({'openai', 'anthropic', 'httpx2'} & set(sys.modules))))"


def test_opening_a_provider_imports_no_sdk() -> None:
    assert run(OPEN + LOADED) == []


def test_warming_up_and_asking_at_once_is_safe() -> None:
    code = """
import json, sys, threading
import anyio
from agent.chat.messages import user
from agent.chat.provider import ProviderError, Request
from agent.providers.registry import ProviderConfig, open_provider, warm_up

config = ProviderConfig("local", "openai", "responses", "k", "http://127.0.0.1:9/v1")
errors, ticks = [], 0

async def ask():
    try:
        async for _ in open_provider(config, "m").stream(Request((user("hi"),))):
            pass
    except ProviderError as error:
        errors.append(error.kind)

async def tick():
    global ticks
    while len(errors) < 3:
        ticks += 1
        await anyio.lowlevel.checkpoint()

async def main():
    threading.Thread(target=warm_up, args=(config,), daemon=True).start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        for _ in range(3):
            tasks.start_soon(ask)

anyio.run(main)
print(json.dumps([*errors, ticks > 100]))
"""
    assert run(code) == ["connection", "connection", "connection", True]


def test_leaving_does_not_wait_for_an_import() -> None:
    code = """
import json, sys, types, time
import anyio
from agent.providers import sdk
from agent.providers.registry import ProviderConfig

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "openai":
            time.sleep(60)

sys.meta_path.insert(0, Slow())

async def main():
    with anyio.move_on_after(0.05):
        await sdk.loaded("openai", ProviderConfig("x", "openai"))

anyio.run(main)
print(json.dumps(["left"]))
"""
    assert run(code) == ["left"]


def test_a_missing_sdk_is_told() -> None:
    code = """
import json, sys
import anyio
from agent.chat.provider import ProviderError
from agent.providers import sdk
from agent.providers.registry import ProviderConfig

sys.modules["openai"] = None

async def main():
    try:
        await sdk.loaded("openai", ProviderConfig("x", "openai"))
    except ProviderError as error:
        print(json.dumps([error.kind, str(error)]))

anyio.run(main)
"""
    kind, text = run(code)
    assert kind == "missing"
    assert text.startswith("x cannot be used (")


@pytest.mark.parametrize(("kind", "apis"), [("openai", ["chat", "responses"]), ("anthropic", [None])])
def test_the_warm_up_imports_the_sdk_in_use_keeps_it_quiet_and_leaves_the_first_request_little_to_import(
    kind: str, apis: list[str | None]
) -> None:
    code = f"""
import json, logging, sys
import anyio
from agent.chat.messages import user
from agent.chat.provider import ProviderError, Request
from agent.providers.registry import ProviderConfig, open_provider, warm_up

configs = [ProviderConfig("x", {kind!r}, api, "k", "http://127.0.0.1:9") for api in {apis!r}]
warm_up(ProviderConfig("mock", "mock"))
warm_up(configs[0])
found = [*sorted({{"openai", "anthropic", "httpx2"}} & set(sys.modules))]
found.append(logging.getLogger("httpx2").isEnabledFor(logging.INFO))

async def ask(config):
    before = set(sys.modules)
    try:
        async for _ in open_provider(config, "m").stream(Request((user("hi"),))):
            pass
    except ProviderError:
        new = [name for name in set(sys.modules) - before if name.startswith(("openai", "anthropic"))]
        found.append(new if len(new) > 5 else [])

for config in configs:
    anyio.run(ask, config)
print(json.dumps(found))
"""
    assert run(code) == [*sorted([kind, "httpx2"]), False, *([] for _ in apis)]
