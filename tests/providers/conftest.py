from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import respx
from respx.mocks import HTTPCoreMocker

from tests.providers.wire import APIS, Api, faults_of


class HTTPCore2Mocker(HTTPCoreMocker):
    """Teaches respx the HTTP stack of the model SDKs. Naming itself registers it."""

    name = "httpcore2"
    targets = [target.replace("httpcore.", "httpcore2.", 1) for target in HTTPCoreMocker.targets]  # noqa: RUF012


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def router() -> Iterator[respx.MockRouter]:
    """Answers instead of the APIs. Every request that it saw must be one the real API would take."""
    with respx.mock(using="httpcore2", assert_all_called=False) as router:
        yield router
    for url, body in {(str(call.request.url), call.request.content) for call in router.calls}:
        assert faults_of(url, json.loads(body)) == []


@pytest.fixture(params=APIS, ids=lambda api: api.name)
def api(request: pytest.FixtureRequest) -> Api:
    return request.param
