from __future__ import annotations

from pathlib import Path

from agent.ui.tour import FAREWELL, STEPS
from tests.ui.runs import start


def test_without_a_terminal_the_tour_is_a_transcript_of_every_step(tmp_path: Path) -> None:
    done = start(["demo"], tmp_path)
    assert (done.code, done.err) == (0, "")
    for step in STEPS:
        assert f"\n{step.explanation}\n> {step.request}\n" in done.out
    for line in (
        "(mock) `echo` said: hello from the tour\n",
        "(mock) `add` said: 8\n",
        "  step 4 of 4\n",
        "  ? demo asked (form): accept\n",
        "(mock) `book_seat` said: Booked on ICE 5: window, without a meal.\n",
        "  ? demo asked (sampling): accept\n",
        "  ? demo asked (review): accept\n",
    ):
        assert line in done.out
    assert done.out.endswith(f"{FAREWELL}\n")


def test_the_tour_stands_on_nothing_of_the_persons(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[chat]\nmodel = "openai/x"\n[permissions]\ndeny = ["*/*"]\n')
    assert start(["demo", "-m", "anthropic/x"], tmp_path, OPENAI_API_KEY="k").code == 0
