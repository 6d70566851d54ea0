"""Sizes are written for people, and read as exporters write them."""

from __future__ import annotations

import time

import pytest

from ingot.dims import Dim, from_param, maximum, minimum, parse, symbol

a, b, c, h, s = (symbol(name) for name in "abchs")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (2 * symbol("seq") + 1, "2*seq + 1"),
        ((h - 1) // 2 + 1, "(h + 1)//2"),
        ((h + 2 * a - b) // s + 1, "(2*a - b + h)//s + 1"),
        (1 - a + b * b * a, "a*b**2 - a + 1"),
        (-(a // 2) * b, "-(a//2)*b"),
        (a % 8 + 1, "a % 8 + 1"),
        (b * (a % 8), "(a % 8)*b"),
        (3 * (a % b), "3*(a % b)"),
        (maximum(b, 1, a // 2), "max(a//2, b, 1)"),
        (a // (b - 1), "a//(b - 1)"),
        (-5 // a, "(-5)//a"),
        (maximum(a, b) // 2 // c, "max(a, b)//(2*c)"),
        (symbol("batch size"), "batch size"),
        (symbol("batch size") + 1, "`batch size` + 1"),
        (symbol("?") * 2, "2*`?`"),
        (symbol("`") * 2, "2*````"),
        (symbol("2") - 2, "`2` - 2"),
        (symbol("input.1_dim_0") // 2, "input.1_dim_0//2"),
        (symbol("größe") + symbol("unk__0"), "größe + unk__0"),
        (symbol("max") * (a + 1), "a*max + max"),
    ],
)
def test_sizes_are_written_for_people(dim: Dim, text: str) -> None:
    assert str(dim) == text
    if text != "batch size":
        assert parse(text) == dim


def test_the_repr_reads_back_even_for_odd_names() -> None:
    assert repr(symbol("batch size")) == "parse('`batch size`')"
    assert eval(repr(symbol("`a``+"))) == symbol("`a``+")


# What exporters write: PyTorch's (str of a sympy expression), and onnxruntime's symbolic shape inference, as found
# in models of the onnx-community on Hugging Face.
@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ("s0 + 1", symbol("s0") + 1),
        ("2*s1", 2 * symbol("s1")),
        ("(s0//2)", symbol("s0") // 2),
        ("s0**2", symbol("s0") * symbol("s0")),
        ("Max(1, s0)", maximum(1, symbol("s0"))),
        ("Mod(a, b)", a % b),
        ("PythonMod(a, 4)", a % 4),
        ("floor(a/2)", a // 2),
        ("FloorToInt(IntTrueDiv(a, 2))", a // 2),
        ("CeilToInt(IntTrueDiv(a, 8))", (a + 7) // 8),
        ("ceiling(a/(-8))", -(a // 8)),
        ("(a-1)//8+1", (a + 7) // 8),
        ("floor(h/2 - 1/2) + 1", (h + 1) // 2),
        ("floor(floor(floor(floor(h/2)/4)/5 - 4/5)/8 - 7/8) + 1", (h + 8) // 320),
        ("floor(0.125*h)", h // 8),
        ("floor(h/14)*floor(s/14) + 5", (h // 14) * (s // 14) + 5),
        ("floor(a*b*c/s) + 1", a * b * c // s + 1),
        ("-a + Min(448, a + 1)", minimum(448, a + 1) - a),
        ("past_sequence_length + 512", symbol("past_sequence_length") + 512),
        ("DynamicDimension.1", symbol("DynamicDimension.1")),
        ("2*(a/2 + b/2)", a + b),
        (" - - 3 ", 3),
        ("-a**2", -(a * a)),
        ("-a//2", (-a) // 2),
        ("a - b - c", a - (b + c)),
        ("a//b*c", (a // b) * c),
        ("a*-2 % 3", (-2 * a) % 3),
    ],
)
def test_what_exporters_write_is_read(text: str, dim: Dim) -> None:
    assert parse(text) == dim


@pytest.mark.parametrize(
    ("text", "why", "position"),
    [
        ("", "end of text", 0),
        ("batch size", "unexpected 'size'", 6),
        ("?", r"unexpected '\?'", 0),
        ("a +", "end of text", 3),
        ("a + * b", r"unexpected '\*'", 4),
        ("(a", "end of text", 2),
        ("a)", r"unexpected '\)'", 1),
        ("2a", "unexpected 'a'", 1),
        ("a, b", "unexpected ','", 1),
        ("(a, b)", "comma", 0),
        ("a // 0", "zero", 2),
        ("a / 0", "zero", 2),
        ("a % (b - b)", "zero", 2),
        ("sqrt(a)", "'sqrt' of 1 is not known", 0),
        ("Mod(a)", "'Mod' of 1", 0),
        ("max()", "unexpected", 4),
        ("h / 2", "h/2 may be a fraction", 0),
        ("max(a/2, 1)", "a/2 may be a fraction", 0),
        ("1.5", "3/2 may be a fraction", 0),
        ("floor(0.1*h)", "not exact in binary", 6),
        ("1.2.3", "malformed", 0),
        ("a**b", "unexpected 'b'", 3),
        ("2**3**2", r"unexpected '\*\*'", 4),
        ("`a", "backtick", 0),
        ("a + ``", "backtick", 4),
        ("a == b", "unexpected '='", 2),
    ],
)
def test_a_text_that_is_not_a_size_is_refused_at_its_position(text: str, why: str, position: int) -> None:
    with pytest.raises(ValueError, match=rf"{why}.*\(position {position}\)"):
        parse(text)


PAIRS = "+".join("abcdefghijklm"), "+".join("ABCDEFGHIJKLM")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "max(" * 3_000 + "a" + ")" * 3_000,
        "(" * 3_000,
        "*".join(["(a + b)"] * 100),
        "*".join(f"(a{i} + b{i})" for i in range(100)),
        "(a + b)**100000",
        "a**" + "9" * 1_000,
        "9**" + "9" * 1_000,
        "*".join(["9**999"] * 2_000),
        "a*" + "*".join(["9**999"] * 2_000),
        "+".join(f"a{i}" for i in range(2_000)),
        "9" * 10_000,
        "a" * 100_000,
        "a" + "//(b + c)" * 1_500,
        "max(" + ",".join(f"a{i}//{i + 2}" for i in range(900)) + ")",
    ],
)
def test_a_text_over_the_limits_is_refused_in_bounded_time(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match="position"):
        parse(text)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "-" * 16_000 + "a",
        f"({PAIRS[0]})*({PAIRS[1]})" + "-1+1" * 3_000,
        f"({PAIRS[0]})*(A+B+C+D)" + "*(x+y)//(x+y)" * 900,
        "a" + "+a//2-a//2" * 1_500,
        "a" + "//7 + a//3" * 1_500,
        "a" + "//2" * 1_300,
        "+".join(["max(a,b,c,d,e,f,g,h,i,j)"] * 600),
        "9" * 3_600,
    ],
)
def test_a_long_text_within_the_limits_is_read_in_bounded_time(text: str) -> None:
    start = time.perf_counter()
    assert parse(str(parse(text))) == parse(text)
    assert time.perf_counter() - start < 15


def test_a_dim_param_is_an_expression_where_it_reads_as_one() -> None:
    assert from_param("batch") == symbol("batch")
    assert from_param("2*seq + 1") == 2 * symbol("seq") + 1
    assert from_param("batch size") == symbol("batch size")
    assert from_param("7") == symbol("7"), "a number is the name of a size here"
    long = "a + " * 100 + "a"
    assert from_param(long) == symbol(long)
