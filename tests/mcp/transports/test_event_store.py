"""Streams of events that are kept, read, and taken up again."""

from __future__ import annotations

import anyio
import pytest

from agent.mcp.sse import encode_event
from agent.mcp.transports import event_store
from agent.mcp.transports.event_store import EventStore, EventStream

pytestmark = pytest.mark.anyio


def lines(*numbered: tuple[int, bytes]) -> bytes:
    return b"".join(encode_event(data, id=f"a-{number}") for number, data in numbered)


async def said(*data: bytes, name: str = "a") -> EventStream:
    stream = EventStream(name)
    for each in data:
        await stream.append(each)
    return stream


async def test_a_reader_gets_what_was_said_and_then_what_is_said() -> None:
    stream = await said(b"x", b"y")
    reader = stream.read()
    assert reader.take() == lines((1, b"x"), (2, b"y"))
    assert reader.take() == b""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.append, b"z")
        with anyio.fail_after(5):
            await reader.more()
    assert reader.take() == lines((3, b"z"))
    assert not reader.is_done
    stream.end()
    assert reader.is_done


async def test_whoever_comes_back_gets_the_rest() -> None:
    stream = await said(b"x", b"y", b"z")
    stream.read().take()
    assert stream.read(1).take() == lines((2, b"y"), (3, b"z"))
    assert stream.read().take() == b""
    assert stream.read(0).take() == lines((1, b"x"), (2, b"y"), (3, b"z"))
    assert stream.read(99).take() == b""


async def test_nothing_is_said_to_two_readers() -> None:
    stream = await said(b"x")
    first = stream.read()
    second = stream.read()
    assert first.is_done
    assert first.take() == b""
    with anyio.fail_after(5):
        await first.more()
    first.close()
    assert second.take() == lines((1, b"x"))
    second.close()


async def test_a_stream_without_a_name_is_said_once() -> None:
    stream = await said(b"x", name="")
    assert stream.read().take() == b"data: x\n\n"
    assert stream.size == 0
    assert stream.read(0).take() == b""


async def test_a_reader_is_sent_away_and_may_come_back() -> None:
    stream = await said(b"x")
    reader = stream.read()
    stream.hang_up()
    assert reader.is_done
    again = stream.read()
    assert again.take() == lines((1, b"x"))


async def test_who_comes_after_the_hanging_up_is_sent_away_too() -> None:
    stream = EventStream("a")
    stream.hang_up()
    assert stream.read().is_done
    assert not stream.read().is_done


async def test_it_settles_when_it_is_more_than_answers_or_at_its_end() -> None:
    for settle in (EventStream.end, EventStream.hang_up):
        stream = EventStream("a")
        await stream.append(b"answer", answer=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.settled)
            await anyio.wait_all_tasks_blocked()
            settle(stream)
        assert stream.only_answers
    talkative = await said(b"note")
    with anyio.fail_after(5):
        await talkative.settled()
    assert not talkative.only_answers


async def test_what_nobody_reads_is_forgotten_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "KEPT_EVENTS", 2)
    stream = await said(b"x", b"y", b"z")
    assert stream.read(0).take() == lines((2, b"y"), (3, b"z"))


async def test_a_long_event_is_kept_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "KEPT_BYTES", 10)
    stream = await said(b"x", b"y" * 100)
    assert stream.read(0).take() == lines((2, b"y" * 100))


async def test_what_a_reader_has_not_had_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "KEPT_EVENTS", 1)
    stream = EventStream("a")
    reader = stream.read()
    await stream.append(b"x")
    await stream.append(b"y")
    assert reader.take() == lines((1, b"x"), (2, b"y"))
    await stream.append(b"z")
    assert stream.read(0).take() == lines((3, b"z"))


async def test_a_slow_reader_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "BACKLOG", 1)
    stream, done = EventStream("a"), anyio.Event()
    reader = stream.read()

    async def speak() -> None:
        await stream.append(b"x")
        await stream.append(b"y")
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speak)
        await anyio.wait_all_tasks_blocked()
        assert not done.is_set()
        reader.take()
        with anyio.fail_after(5):
            await done.wait()


async def test_a_reader_that_has_stopped_reading_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "BACKLOG", 0)
    monkeypatch.setattr(event_store, "STALL_SECONDS", 0.01)
    stream = EventStream("a")
    reader = stream.read()
    with anyio.fail_after(5):
        await stream.append(b"x")
    reader.close()
    with anyio.fail_after(0.005):
        await stream.append(b"y")


# All the streams of a session.


async def test_an_event_is_found_by_its_id() -> None:
    store = EventStore()
    first, second = store.open(), store.open()
    assert store.find("1-0") == (first, 0)
    assert store.find("2-17") == (second, 17)
    store.drop(first)
    store.drop(first)
    assert store.find("1-0") is None


@pytest.mark.parametrize("id", ["", "1", "1-", "1-x", "1--1", "3-1", "1-1-1", "1-²", "1-" + "9" * 99])
async def test_an_id_that_is_none_finds_nothing(id: str) -> None:
    store = EventStore()
    store.open()
    assert store.find(id) is None


async def test_only_so_many_ended_streams_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "KEPT_STREAMS", 1)
    store = EventStore()
    living, *others = (store.open() for _ in range(4))
    for stream in others:
        stream.end()
    store.open()
    assert [bool(store.find(f"{number}-0")) for number in range(1, 6)] == [True, False, False, True, True]
    store.end_all()
    assert living.ended


async def test_only_so_many_bytes_of_ended_streams_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store = EventStore()
    for _ in range(2):
        stream = store.open()
        await stream.append(b"x" * 100)
        stream.end()
    monkeypatch.setattr(event_store, "KEPT_BYTES", 150)
    store.open()
    assert [bool(store.find(f"{number}-0")) for number in range(1, 4)] == [False, True, True]
