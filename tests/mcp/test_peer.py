from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_CODE,
    PARSE_ERROR,
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Result,
)
from agent.mcp.peer import (
    ABANDONED_KEPT,
    OWED_AT_ONCE,
    Answered,
    Asked,
    LocalProtocolError,
    Peer,
    Progressed,
    Refused,
    Stray,
    Told,
    Withdrawn,
)


def cancelled(id: Any) -> Notification:
    return Notification("notifications/cancelled", {"requestId": id})


def progress(token: Any) -> Notification:
    return Notification("notifications/progress", {"progressToken": token, "progress": 1})


def test_a_call_is_answered_once() -> None:
    peer = Peer()
    request = peer.call("tools/list", {"cursor": "a"})
    assert request == Request(1, "tools/list", {"cursor": "a"})
    assert peer.awaits(1)
    assert peer.receive(Result(1, "x")) == Answered(1, Result(1, "x"))
    assert not peer.awaits(1)
    assert peer.receive(Result(1, "x")) == Stray(Result(1, "x"))


def test_an_error_is_an_answer() -> None:
    peer = Peer()
    peer.call("a")
    assert peer.receive(Failure(1, 5, "no")) == Answered(1, Failure(1, 5, "no"))


def test_ids_are_never_used_twice() -> None:
    peer = Peer()
    assert [peer.call("a").id for _ in range(5)] == [1, 2, 3, 4, 5]


def test_a_call_with_progress_carries_its_id_as_token_beside_what_else_it_carries() -> None:
    peer = Peer()
    params = {"name": "x", "_meta": {"traceparent": "00"}}
    assert peer.call("tools/call", params, progress=True).params == {
        "name": "x",
        "_meta": {"traceparent": "00", "progressToken": 1},
    }
    assert params == {"name": "x", "_meta": {"traceparent": "00"}}
    assert peer.call("ping", progress=True).params == {"_meta": {"progressToken": 2}}


def test_progress_belongs_to_a_call_in_flight() -> None:
    peer = Peer()
    peer.call("a", progress=True)
    assert peer.receive(progress(1)) == Progressed(1, {"progressToken": 1, "progress": 1})
    peer.receive(Result(1, {}))
    assert peer.receive(progress(1)) == Told(progress(1))


@pytest.mark.parametrize("token", ["nobody", 7, None, True, [], {}])
def test_other_progress_is_told_like_anything_else(token: Any) -> None:
    peer = Peer()
    peer.call("a", progress=True)
    assert peer.receive(progress(token)) == Told(progress(token))


def test_both_sides_may_use_the_same_id_at_once() -> None:
    here, there = Peer(), Peer()
    question, counter_question = here.call("tools/call"), there.call("sampling/createMessage")
    assert question.id == counter_question.id == 1
    assert there.receive(question) == Asked(question)
    assert here.receive(counter_question) == Asked(counter_question)
    sample = here.answer(1, "sample")
    assert there.receive(sample) == Answered(1, Result(1, "sample"))
    done = there.answer(1, "done")
    assert here.receive(done) == Answered(1, Result(1, "done"))


def test_an_id_in_use_is_refused_and_the_first_request_stays() -> None:
    peer = Peer()
    peer.receive(Request("q", "a"))
    assert peer.receive(Request("q", "b")) == Refused(Failure("q", INVALID_REQUEST, "request id 'q' is in use"))
    assert peer.answer("q", 1) == Result("q", 1)
    assert peer.receive(Request("q", "c")) == Asked(Request("q", "c"))


def test_the_number_one_and_the_text_one_are_two_ids() -> None:
    peer = Peer()
    assert peer.receive(Request(1, "a")) == Asked(Request(1, "a"))
    assert peer.receive(Request("1", "a")) == Asked(Request("1", "a"))
    assert peer.answer("1", "text") == Result("1", "text")
    assert peer.answer(1, "number") == Result(1, "number")


def test_a_flood_of_requests_is_refused_beyond_a_bound() -> None:
    peer = Peer()
    for id in range(OWED_AT_ONCE):
        assert isinstance(peer.receive(Request(id, "a")), Asked)
    refusal = peer.receive(Request("more", "a"))
    assert refusal == Refused(Failure("more", INTERNAL_ERROR, f"more than {OWED_AT_ONCE} requests at once"))
    peer.answer(0, None)
    assert isinstance(peer.receive(Request("more", "a")), Asked)


def test_a_request_is_answered_or_failed_once() -> None:
    peer = Peer()
    peer.receive(Request(1, "a"))
    assert peer.fail(1, 5, "no", {"why": 1}) == Failure(1, 5, "no", {"why": 1})
    for late in (lambda: peer.answer(1, 2), lambda: peer.fail(1, 5, "no")):
        with pytest.raises(LocalProtocolError, match="nobody is waiting for an answer to 1"):
            late()


def test_an_abandoned_call_is_withdrawn_once_and_its_late_answers_are_dropped() -> None:
    peer = Peer()
    peer.call("a", progress=True)
    note = peer.abandon(1, "too slow")
    assert note == Notification("notifications/cancelled", {"requestId": 1, "reason": "too slow"})
    assert peer.abandon(1, "again") is None
    assert [peer.receive(message) for message in (Result(1, 2), Failure(1, 5, "x"))] == [None, None]


def test_abandoned_calls_are_not_remembered_for_ever() -> None:
    peer = Peer()
    for _ in range(ABANDONED_KEPT + 1):
        peer.abandon(peer.call("a").id, "")
    assert peer.receive(Result(1, "late")) == Stray(Result(1, "late"))
    assert peer.receive(Result(2, "late")) is None


@pytest.mark.parametrize(("said", "reason"), [({}, ""), ({"reason": "bored"}, "bored"), ({"reason": 7}, "")])
def test_a_withdrawn_request_may_not_be_answered(said: dict[str, Any], reason: str) -> None:
    peer = Peer()
    peer.receive(Request("q", "a"))
    withdrawal = Notification("notifications/cancelled", {"requestId": "q"} | said)
    assert peer.receive(withdrawal) == Withdrawn("q", reason)
    with pytest.raises(LocalProtocolError):
        peer.answer("q", 1)


@pytest.mark.parametrize("id", ["unknown", 1, "1", None, True, [], {"a": 1}])
def test_withdrawing_what_nobody_asked_is_only_a_notification(id: Any) -> None:
    peer = Peer()
    peer.call("ours has id 1 too")
    assert peer.receive(cancelled(id)) == Told(cancelled(id))
    assert peer.receive(Notification("notifications/cancelled")) == Told(Notification("notifications/cancelled"))


def test_unknown_notifications_are_told() -> None:
    note = Notification("window/logMessage", {"type": 3})
    assert Peer().receive(note) == Told(note)


@pytest.mark.parametrize("answer", [Result("2", "x"), Failure("2", 5, "x")])
def test_an_answer_with_its_id_as_text_counts_if_it_can_only_be_one(answer: Result | Failure) -> None:
    peer = Peer()
    peer.call("a")
    peer.call("b")
    assert peer.receive(answer) == Answered(2, answer)


@pytest.mark.parametrize("code", [PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR, NO_CODE, -32000])
def test_an_error_without_an_id_belongs_to_the_only_request(code: int) -> None:
    peer, error = Peer(), Failure(None, code, "cannot marshal response: loop")
    peer.call("a")
    assert peer.receive(error) == Answered(1, error)


@pytest.mark.parametrize("calls", [0, 2])
def test_an_error_without_an_id_belongs_to_none_of_several(calls: int) -> None:
    peer, error = Peer(), Failure(None, PARSE_ERROR, "x")
    ids = [peer.call("a").id for _ in range(calls)]
    assert peer.receive(error) == Stray(error)
    assert all(peer.awaits(id) for id in ids)


@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, INVALID_PARAMS, 1, -1, -31_999, -32_769])
def test_an_error_without_an_id_that_is_not_about_the_message_is_not_taken_for_an_answer(code: int) -> None:
    peer, reply = Peer(), Failure(None, code, "Method not found: notifications/initialized")
    peer.call("tools/list")
    assert peer.receive(reply) == Stray(reply)
    assert peer.awaits(1)


def test_answers_with_an_id_that_is_always_the_same_go_to_nobody_else() -> None:
    peer = Peer()
    peer.call("initialize")
    assert peer.receive(Result(0, {})) == Stray(Result(0, {}))
    assert peer.awaits(1)


IDS = st.integers(0, 4) | st.sampled_from(["0", "1", "2"])
HEARD = st.one_of(
    st.builds(Request, IDS, st.just("a")),
    st.builds(Result, IDS, st.none()),
    st.builds(Failure, st.none() | IDS, st.sampled_from([PARSE_ERROR, METHOD_NOT_FOUND]), st.just("x")),
    st.builds(cancelled, IDS),
    st.builds(progress, IDS),
)
STEPS = st.lists(st.one_of(HEARD, st.just("call"), st.just("abandon"), st.just("answer")), max_size=40)


@given(STEPS)
def test_whatever_is_said_every_call_is_settled_at_most_once(steps: list[Message | str]) -> None:
    peer = Peer()
    open_calls: set[RequestId] = set()
    owed: list[RequestId] = []
    for step in steps:
        match step:
            case "call":
                open_calls.add(peer.call("a").id)
            case "abandon" if open_calls:
                assert peer.abandon(open_calls.pop(), "") is not None
            case "answer" if owed:
                peer.answer(owed.pop(), None)
            case Request() | Result() | Failure() | Notification():
                match peer.receive(step):
                    case Answered(id):
                        open_calls.remove(id)
                    case Asked(request):
                        assert request.id not in owed
                        owed.append(request.id)
                    case Withdrawn(id):
                        owed.remove(id)
    assert {id for id in range(50) if peer.awaits(id)} == open_calls
