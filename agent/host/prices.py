"""The cost of model requests in US dollars, if the price is known."""

from __future__ import annotations

from functools import cache
from typing import Any

from anyio import to_thread

from agent.chat.messages import Usage
from agent.chat.report import Report
from agent.host.config.config import Config
from agent.providers.registry import ProviderConfig


class Prices:
    def __init__(self, config: Config) -> None:
        self._config = config

    async def cost(self, label: str, usage: Usage) -> float | None:
        """The cost of a request to PROVIDER/MODEL; None if the price is unknown or the extra `prices` not installed."""
        name, _, model = label.partition("/")
        provider = self._config.providers.get(name)
        if not isinstance(provider, ProviderConfig) or provider.kind == "mock":
            return None
        table = await to_thread.run_sync(_table)  # importing it takes a third of a second
        return _look_up(table, provider, model, usage) if table else None

    async def total(self, label: str, report: Report) -> float | None:
        """The cost of a run with PROVIDER/MODEL, with servers' sampling requests; None unless all of it is known."""
        costs = [await self.cost(label, usage) if usage else None for usage in report.replies]
        costs += [sample.cost for sample in report.samples if sample.usage or sample.cost is not None]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None


@cache
def _table() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def _look_up(table: Any, provider: ProviderConfig, model: str, usage: Usage) -> float | None:
    spent = table.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    where = {"provider_id": provider.kind} if provider.is_official else {"provider_api_url": provider.url}
    try:
        return float(table.calc_price(spent, model_ref=model, **where).total_price)
    except (LookupError, ValueError):
        return None
