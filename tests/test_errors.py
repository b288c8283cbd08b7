"""User input shown in messages is printable, short and on one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kselect.errors import LONGEST_ECHO, brief, cut, nearest, printable, quoted

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("value", ["a", "it's", 3, 0.1, True, None, [1], {}, "τ"])
def test_short_values_are_shown_as_python_writes_them(value: object) -> None:
    assert quoted(value) == repr(value)


@given(ANYTHING)
def test_shown_values_are_short_and_printable(value: object) -> None:
    for shown in (quoted(value), brief(value)):
        assert len(shown) <= LONGEST_ECHO
        assert shown.isprintable()


@pytest.mark.parametrize(
    "value",
    ["z" * 10**6, 10**5000, -(16**9000), [10**5000], ["z" * 1000] * 1000, [[[[[["z"]]]]]]],
    ids=["text", "number", "negative", "number in a list", "list", "nested"],
)
def test_long_values_are_cut(value: object) -> None:
    assert len(quoted(value)) <= LONGEST_ECHO


def test_both_ends_are_kept() -> None:
    assert quoted("a" * 100 + "b" * 100).startswith("'aaaa")
    assert quoted("a" * 100 + "b" * 100).endswith("bbbb'")
    assert cut("abcdefghij", 8) == "abc...ij"
    assert cut("abcdefghij", 10) == "abcdefghij"


@given(st.text(), st.integers(6, 40))
def test_cut(text: str, most: int) -> None:
    assert len(cut(text, most)) == min(len(text), most)


def test_control_characters_are_escaped() -> None:
    assert printable("a\nerror: b\x1b[31m\u202e\ud800 τ") == (r"a\nerror: b\x1b[31m\u202e\ud800 τ")


def test_nearest_names_fit_on_one_line() -> None:
    assert nearest("hart", ["heart", "sonar"]) == "; did you mean 'heart'?"
    assert nearest("iris", ["diabetis", "heart"]) == "; valid: diabetis, heart"
    assert nearest("x", ["a\x1b[31m", "b"]) == r"; valid: a\x1b[31m, b"
    many = nearest("?", [f"column{i}" for i in range(100_000)])
    assert len(many) < 30 * (LONGEST_ECHO + 2)
    assert many.endswith("... (100000 in all)")
    assert len(nearest("z" * 10**6, ["z" * 10**6])) < 2 * LONGEST_ECHO
