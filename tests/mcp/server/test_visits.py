from __future__ import annotations

import pytest

from agent.mcp.server.dialogue import ClientRefused
from agent.mcp.server.visits import Visit, read_visit, visit_params


def test_a_page_has_a_name_only_where_there_is_a_word_for_its_end() -> None:
    plain = {"mode": "url", "message": "Sign in", "url": "https://a"}
    assert visit_params("Sign in", "https://a", "2026-07-28") == plain
    one, other = (visit_params("Sign in", "https://a", "2025-11-25") for _ in range(2))
    assert one == {**plain, "elicitationId": one["elicitationId"]}
    assert one["elicitationId"] != other["elicitationId"]


def test_an_answer_is_read_for_its_action_alone() -> None:
    assert read_visit({"action": "accept", "content": {"x": 1}}, {"elicitationId": "e"}) == Visit("accept", "e")
    assert read_visit({"action": "cancel"}, {}) == Visit("cancel")


@pytest.mark.parametrize("answer", [None, [], {}, {"action": "perhaps"}])
def test_an_answer_that_is_none_is_an_error(answer: object) -> None:
    with pytest.raises(ClientRefused, match=r"^The client's answer to the page names no action\.$"):
        read_visit(answer, {})
