from __future__ import annotations

import pytest

from agent.mcp.server.docstrings import read_docstring

GOOGLE = """Book a seat.

    It may take a while.

    Args:
        train: The number
            of the train.
        seat (int, optional): Which one
        **more: Whatever else

    Returns:
        Whether it worked.
    """

NUMPY = """Book a seat.

    Parameters
    ----------
    train : str
        The number
        of the train.
    seat, place : int
        Which one

    Returns
    -------
    bool
    """

SPHINX = """Book a seat.

    :param train: The number
        of the train.
    :param int seat: Which one
    :type seat: int
    :returns: Whether it worked.
    """


@pytest.mark.parametrize(
    ("text", "summary", "parameters"),
    [
        (
            GOOGLE,
            "Book a seat.\n\nIt may take a while.\n\nReturns:\n    Whether it worked.",
            {"train": "The number of the train.", "seat": "Which one", "more": "Whatever else"},
        ),
        (
            NUMPY,
            "Book a seat.\n\nReturns\n-------\nbool",
            {"train": "The number of the train.", "seat": "Which one", "place": "Which one"},
        ),
        (
            SPHINX,
            "Book a seat.\n\n:returns: Whether it worked.",
            {"train": "The number of the train.", "seat": "Which one"},
        ),
        ("Only this: no section.", "Only this: no section.", {}),
        ("Args:", "", {}),
        ("Parameters\n----------", "", {}),
        (None, "", {}),
        ("", "", {}),
        ("Args:\n    a: one\nThe end.", "The end.", {"a": "one"}),
    ],
)
def test_a_docstring_is_taken_apart(text: str | None, summary: str, parameters: dict[str, str]) -> None:
    found = read_docstring(text)
    assert (found.summary, found.parameters) == (summary, parameters)
