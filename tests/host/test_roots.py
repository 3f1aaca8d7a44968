"""The folders a server may know of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.chat.events import Noticed
from agent.chat.questions import Answer, Question, ShareRoots
from agent.host.host import HostError
from tests.host.asking import ERAS, asking, call, config, person
from tests.host.scene import scene

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]


async def test_a_server_s_own_folders_are_told_without_a_question(era: str) -> None:
    async with scene(config({"roots": ["/srv/data", "/"], "protocol": era}), {"asking": asking}) as view:
        assert await call(view, "roots") == "data=file:///srv/data, /=file:///"


async def test_those_for_all_are_told_once_the_person_agrees_and_names_are_encoded(era: str) -> None:
    asked: list[Question] = []

    def agree(question: Question) -> Answer:
        asked.append(question)
        return Answer("accept", remember="session")

    chosen = config({"roots": ["/own"], "protocol": era}, chat={"roots": ["/own", "/my files/ä"]})
    async with scene(chosen, {"asking": asking}, person=agree) as view:
        for _ in range(2):
            assert await call(view, "roots") == "own=file:///own, ä=file:///my%20files/%C3%A4"
    assert asked == [ShareRoots("asking", ("/my files/ä",))]


async def test_a_refusal_is_not_asked_about_again_until_the_folders_are_others(era: str, tmp_path: Path) -> None:
    asked: list[Question] = []

    def refuse(question: Question) -> Answer:
        asked.append(question)
        return Answer("decline")

    async with scene(config({"protocol": era}, chat={"roots": ["/a"]}), {"asking": asking}, person=refuse) as view:
        assert [await call(view, "roots"), await call(view, "roots")] == ["", ""]
        view.host.roots.add(".", tmp_path)
        await view.host.roots_changed()
        assert await call(view, "roots") == ""
    assert asked == [ShareRoots("asking", ("/a",)), ShareRoots("asking", ("/a", str(tmp_path)))]


async def test_a_refusal_that_is_remembered_says_so_and_can_be_taken_back(era: str) -> None:
    answers = [Answer("decline"), Answer("accept", remember="session"), Answer("accept")]
    chosen = config({"protocol": era}, chat={"roots": ["/a"]})
    async with scene(chosen, {"asking": asking}, person=lambda one: answers.pop(0)) as view:
        roots = view.host.roots
        assert (await call(view, "roots"), roots.standing("asking")) == ("", "was refused, for this session")
        roots.forget("asking")
        assert roots.standing("asking") == ""
        assert (await call(view, "roots"), roots.standing("asking")) == ("a=file:///a", "may know them in this session")
        roots.forget("asking")
        assert (await call(view, "roots"), roots.standing("asking")) == ("a=file:///a", "")
    [noticed] = [event.text for event in view.events(Noticed) if "forget" in event.text]
    assert noticed == (
        "It will not be told of these folders in this session, and you will not be asked again; "
        "/roots forget asking changes that."
    )


async def test_once_is_for_this_time_only(era: str) -> None:
    asked: list[Question] = []
    chosen = config({"protocol": era}, chat={"roots": ["/a"]})
    async with scene(chosen, {"asking": asking}, person=lambda one: asked.append(one) or Answer("accept")) as view:
        assert [await call(view, "roots"), await call(view, "roots")] == ["a=file:///a", "a=file:///a"]
    assert len(asked) == 2


async def test_folders_are_added_and_taken_away_in_the_chat(era: str, tmp_path: Path) -> None:
    async with scene(config({"protocol": era}), {"asking": asking}, person=person()) as view:
        roots = view.host.roots
        (tmp_path / "x").mkdir()
        assert roots.add("x/../x", tmp_path) == str(tmp_path / "x")
        roots.add("x", tmp_path)
        assert await call(view, "roots") == f"x={(tmp_path / 'x').as_uri()}"
        assert roots.remove(str(tmp_path / "x"), tmp_path) == str(tmp_path / "x")
        assert await call(view, "roots") == ""
        with pytest.raises(HostError, match=r"There is no folder .*/missing"):
            roots.add("missing", tmp_path)
        with pytest.raises(HostError, match=r"/y is not shared\. No folder is\."):
            roots.remove("y", Path("/"))


async def test_a_server_of_the_handshake_era_is_told_of_the_change(era: str, tmp_path: Path) -> None:
    chosen = replace(config({"protocol": era}), trace=tmp_path / "trace.jsonl")
    async with scene(chosen, {"asking": asking}, person=person()) as view:
        await view.host.roots_changed()
    told = "notifications/roots/list_changed" in (tmp_path / "trace.jsonl").read_text()
    assert told == (era == "2025-11-25")
