"""Two peers that talk at cross purposes: every call is settled by its own answer, and nothing is kept."""

from __future__ import annotations

from collections import deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.mcp.jsonrpc import Failure, Message, Notification, RequestId, Result
from agent.mcp.peer import ABANDONED_KEPT, Answered, Asked, Peer, Progressed, Refused, Stray, Told, Withdrawn
from tests.mcp.anything import dose, ids

SIDES = (0, 1)
sides = st.sampled_from(SIDES)
positions = st.integers(0, 1_000)


class Conversation(RuleBasedStateMachine):
    """Two peers and the wires between them, on which messages keep their order and take their time."""

    def __init__(self) -> None:
        super().__init__()
        self.peers = (Peer(), Peer())
        self.wires: tuple[deque[Message], deque[Message]] = (deque(), deque())  # to each side
        self.waiting: tuple[dict[RequestId, str], dict[RequestId, str]] = ({}, {})  # the methods that each side called
        self.owing: tuple[dict[RequestId, str], dict[RequestId, str]] = ({}, {})  # and that it was called with

    @rule(side=sides, method=st.text(), progress=st.booleans())
    def call(self, side: int, method: str, progress: bool) -> None:
        request = self.peers[side].call(method, progress=progress)
        self.waiting[side][request.id] = method
        self.wires[1 - side].append(request)

    @rule(side=sides, which=positions)
    def abandon(self, side: int, which: int) -> None:
        if waiting := sorted(self.waiting[side], key=str):
            id = waiting[which % len(waiting)]
            del self.waiting[side][id]
            note = self.peers[side].abandon(id, "enough")
            assert note is not None
            self.wires[1 - side].append(note)
            assert self.peers[side].abandon(id, "again") is None

    @rule(side=sides, which=positions, fails=st.booleans())
    def answer(self, side: int, which: int, fails: bool) -> None:
        if owing := sorted(self.owing[side], key=str):
            id = owing[which % len(owing)]
            said = self.owing[side].pop(id)
            peer = self.peers[side]
            self.wires[1 - side].append(peer.fail(id, 5, said) if fails else peer.answer(id, said))

    @rule(side=sides, token=ids | st.none())
    def report(self, side: int, token: RequestId | None) -> None:
        self.wires[1 - side].append(Notification("notifications/progress", {"progressToken": token, "progress": 1}))

    @rule(side=sides, id=st.text(st.characters(exclude_categories=["N"]), min_size=1))
    def stray(self, side: int, id: str) -> None:
        self.wires[1 - side].append(Result(id, "for nobody"))
        self.wires[1 - side].append(Notification("notifications/cancelled", {"requestId": id}))

    @precondition(lambda self: any(self.wires))
    @rule(side=sides)
    def deliver(self, side: int) -> None:
        if not self.wires[side]:
            return
        message = self.wires[side].popleft()
        match self.peers[side].receive(message):
            case Asked(request):
                assert request.id not in self.owing[side]
                self.owing[side][request.id] = request.method
            case Answered(id, Result(value=said) | Failure(message=said)):
                assert said == self.waiting[side].pop(id), "an answer went to another question"
            case Withdrawn(id):
                del self.owing[side][id]
            case Progressed(id):
                assert id in self.waiting[side]
            case Stray(outcome):
                assert isinstance(outcome, Result)
                assert outcome.value == "for nobody"
            case Told(note):
                assert note.method in ("notifications/cancelled", "notifications/progress")
            case Refused(reply):
                raise AssertionError(f"nothing wrong was said, and yet: {reply}")

    @invariant()
    def nothing_is_kept_but_what_is_open(self) -> None:
        for side in SIDES:
            assert self.peers[side]._awaiting == set(self.waiting[side])
            assert self.peers[side]._owing == set(self.owing[side])
            assert len(self.peers[side]._abandoned) <= ABANDONED_KEPT

    def teardown(self) -> None:
        while any(self.wires) or any(self.owing):
            for side in SIDES:
                self.answer(side, 0, False)
                self.deliver(side)
        self.nothing_is_kept_but_what_is_open()
        assert self.waiting == ({}, {}), "everything was answered, and somebody still waits"


Conversation.TestCase.settings = dose(0.1)
TestConversation = Conversation.TestCase
