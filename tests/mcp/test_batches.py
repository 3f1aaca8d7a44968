from __future__ import annotations

from agent.mcp.batches import Batch
from agent.mcp.jsonrpc import Failure, Result


def test_nothing_is_due_before_the_last_request_is_settled_and_the_batch_is_read() -> None:
    batch = Batch()
    batch.ask()
    assert batch.settle(Result(1, "a")) == ()
    batch.ask()
    assert batch.seal() == ()
    assert batch.settle(Failure(2, 5, "no")) == (Result(1, "a"), Failure(2, 5, "no"))


def test_a_batch_that_asks_nothing_is_not_answered() -> None:
    assert Batch().seal() == ()


def test_what_is_not_owed_any_more_is_missing() -> None:
    batch = Batch()
    batch.ask()
    batch.ask()
    assert batch.seal() == ()
    assert batch.settle(None) == ()
    assert batch.settle(Result(2, None)) == (Result(2, None),)
