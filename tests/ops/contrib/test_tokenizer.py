"""Tokens of texts against onnxruntime's."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ingot.ops.text.re2_match import Pattern
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate, inferred

TEXTS = ["the quick brown fox", "", "  lazy,dogs ;sleep", "grüße, wörld", "a", "hello hello world.", ",, ;"]


def texts(*items: str) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


@pytest.mark.parametrize("mark", [0, 1])
@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize(
    "how",
    [
        {"separators": [" "]},
        {"separators": [" ", ","]},
        {"separators": ["[ ,;]+", "l"]},
        {"separators": [r"\s|,"]},
        {"tokenexp": "[a-zA-Z]+"},
        {"tokenexp": r"\w\w+"},
        {"tokenexp": "a|h.*l|q"},
        {"tokenexp": r"\b[a-z]"},
        {"tokenexp": "o|[a-z]*"},
    ],
)
def test_tokens_are_those_of_onnxruntime(how: dict[str, Any], least: int, mark: int) -> None:
    x = texts(*TEXTS)
    agrees("Tokenizer", x, compiled=False, pad_value="#", mark=mark, mincharnum=least, **how)
    agrees("Tokenizer", x[:6].reshape(3, 2), compiled=False, pad_value="", mark=mark, mincharnum=least, **how)


@pytest.mark.parametrize("how", [{"separators": [""]}, {"tokenexp": "."}])
def test_every_character_may_be_a_token(how: dict[str, Any]) -> None:
    agrees("Tokenizer", texts("grüße", "", "no\nlines"), compiled=False, pad_value="#", mark=1, mincharnum=1, **how)
    agrees("Tokenizer", texts("", ""), compiled=False, pad_value="#", mark=1, mincharnum=1, **how)


def test_attributes_that_contradict_each_other_are_refused() -> None:
    def run(**attributes: Any) -> Any:
        return evaluate("Tokenizer", texts("a"), domain="com.microsoft", version=1, mark=0, pad_value="", **attributes)

    with pytest.raises(CheckError, match="neither separators nor tokenexp"):
        run(mincharnum=1)
    with pytest.raises(CheckError, match="every character is a token"):
        run(mincharnum=2, tokenexp=".")
    with pytest.raises(CheckError, match="expected at least 1"):
        run(mincharnum=0, tokenexp="a")
    with pytest.raises(ShapeError, match="3 axes, expected 1 or 2"):
        evaluate(
            "Tokenizer",
            texts("a").reshape(1, 1, 1),
            domain="com.microsoft",
            version=1,
            mark=0,
            pad_value="",
            mincharnum=1,
            tokenexp="a",
        )
    given: Any = {"x": (8, ["n", 1])}
    found = inferred(
        "Tokenizer", given, domain="com.microsoft", version=1, mark=0, pad_value="", mincharnum=1, tokenexp="a"
    )
    assert found.startswith("string[n, 1, ")


def test_the_leftmost_longest_match_is_found() -> None:
    rng = random.Random(1)
    for pattern in ("ab|a", "a+b*|b", "b|ab*a", "(ab)+", "^a|b$", r"\bab", "c*"):
        longest = Pattern(pattern)
        for _ in range(200):
            text = "".join(rng.choices("abc ", k=rng.randrange(9)))
            start = rng.randrange(len(text) + 1)
            assert longest.find(text, start) == by_trial(pattern, text, start), (pattern, text, start)


def by_trial(pattern: str, text: str, start: int) -> tuple[int, int] | None:
    """The same, by trying every end of every start, with what lies around in view."""
    for first in range(start, len(text) + 1):
        for end in range(len(text), first - 1, -1):
            whole = re.compile(f"(?:{pattern})(?<=(?s:.){{{end}}})").match(text, first)
            if whole is not None and whole.end() == end:
                return first, end
    return None
