"""Regular expressions in RE2's syntax: what matches, what is refused, and that none takes for ever."""

from __future__ import annotations

import random
import re
import time

import numpy as np
import pytest

from ingot.errors import CheckError, UnsupportedError
from ingot.ops.text.re2_match import Pattern
from ingot.ops.text.regex import regex_full_match


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("", [""], ["a"]),
        ("a|bc|", ["a", "bc", ""], ["b", "abc"]),
        ("[a-c]+[^a-c]", ["abcd", "a\n"], ["abc", "d"]),
        (r"\d{2,3}", ["12", "123"], ["1", "1234", "٣٤"]),
        (r"x{0}y{2}z{1,}", ["yyz", "yyzzz"], ["xyyz", "yy"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        (r"(?i)Straße", ["STRAßE", "straße"], ["STRASSE"]),
        (r"(?i:a)b", ["Ab", "ab"], ["AB"]),
        (r"a(?i)b|c", ["aB", "C"], ["AB"]),
        (r".", ["a", "é", "😀"], ["\n", ""]),
        (r"(?s).", ["\n"], [""]),
        (r"(?m)a$\n^b", ["a\nb"], ["ab"]),
        (r"a$\n^b", [], ["a\nb"]),
        (r"\bfoo\b.*", ["foo", "foo bar"], ["foobar"]),
        (r".\B.", ["ab"], ["a "]),
        (r"\pL+\p{Nd}\P{Lu}", ["äß1x"], ["ä1X"]),
        (r"[\p{Lu}\d_]+", ["A1_"], ["a"]),
        (r"[[:alpha:]-]+", ["a-Z"], ["1"]),
        (r"[[:^digit:]]", ["a"], ["1"]),
        (r"[]a]+", ["]a"], ["b"]),
        (r"[^]]", ["a"], ["]"]),
        (r"\Qa.b*\E", ["a.b*"], ["axb"]),
        (r"\x41\x{1F600}\101\0", ["A😀A\x00"], ["A"]),
        (r"(?P<name>a)(?<other>b)(?:c)", ["abc"], ["ab"]),
        (r"(a*)*b", ["b", "aab"], ["a"]),
        (r"a+?b*?", ["a", "aabb"], ["b"]),
        (r"\.\*\[", [".*["], ["a"]),
        (r"[\d\-.]+", ["1-2.3"], ["a"]),
    ],
)
def test_the_whole_text_matches_or_not(pattern: str, yes: list[str], no: list[str]) -> None:
    matches = Pattern(pattern).matches
    assert [text for text in yes if not matches(text)] == []
    assert [text for text in no if matches(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)", "(?<!a)b", "a**", "a*+", "(a", "a)", "[a", r"(a)\1", "*a", "x{1001}", "x{3,2}", "[z-a]", r"[a-\d]"),
        *("(?z)a", r"\x{110000}", "[[:foo:]]", "\\", r"\k", "(" * 200 + ")" * 200),
    ],
)
def test_what_re2_does_not_have_is_refused(pattern: str) -> None:
    with pytest.raises(CheckError, match="position"):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", [r"\p{Greek}", r"\C", "((a{100}){100}){100}"])
def test_what_is_beyond_us_is_said_to_be(pattern: str) -> None:
    with pytest.raises(UnsupportedError):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*x", "(x+x+)+y"])
def test_no_pattern_takes_time_exponential_in_the_text(pattern: str) -> None:
    start = time.perf_counter()
    assert not Pattern(pattern).matches("a" * 20_000)
    assert time.perf_counter() - start < 2


def test_random_patterns_agree_with_python_where_the_syntaxes_do() -> None:
    generator = random.Random(7)
    atoms = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "^", "$", r"\b", "(a|b)", "(?:ab)", "a{1,3}", "b*", "(a*)*"]
    for _ in range(300):
        pattern = "".join(generator.choice(atoms) for _ in range(generator.randint(1, 5)))
        pattern = f"({pattern})*" if generator.random() < 0.3 else pattern
        ours = Pattern(pattern)
        theirs = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
        for _ in range(5):
            text = "".join(generator.choice("ab1 \n") for _ in range(generator.randint(0, 6)))
            assert ours.matches(text) == (theirs.fullmatch(text) is not None), (pattern, text)


def test_tensors_of_any_shape_are_matched() -> None:
    assert regex_full_match.evaluate(np.asarray("ab", object), pattern="a.").tolist() is True
    empty = regex_full_match.evaluate(np.empty((2, 0), object), pattern="a")
    assert (empty.shape, empty.dtype) == ((2, 0), np.bool_)
    with pytest.raises(CheckError, match="needs a pattern"):
        regex_full_match.evaluate(np.empty(0, object))
