"""Units, escapes and hints."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ingot
from ingot.cli.arguments import listed
from ingot.cli.hints import OPTIONS, for_the_command_line
from ingot.cli.printable import one_line, printable
from ingot.cli.units import counted, size, size_text


def parsed(text: str) -> int | None:
    return size(click.Context(click.Command("x")), click.Option(["--threshold"]), text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("1024", 1024),
        ("1B", 1),
        ("1K", 1024),
        ("1k", 1024),
        ("1KiB", 1024),
        ("1KB", 1000),
        ("10MB", 10_000_000),
        ("1.5M", 3 << 19),
        ("2 GiB", 2 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes_are_read(text: str, count: int) -> None:
    assert parsed(text) == count


@pytest.mark.parametrize("text", ["", "K", "-1", "1X", "1e3", "1,000", "inf", "1.K", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        parsed(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (5000 << 40, "5,000.0 TiB"),
    ],
)
def test_sizes_are_shown_with_a_unit(count: int, text: str) -> None:
    assert size_text(count) == text


def test_things_are_counted() -> None:
    assert [counted(n, "node") for n in (0, 1, 2, 1000)] == ["0 nodes", "1 node", "2 nodes", "1,000 nodes"]


@given(st.text())
def test_printable_text_has_no_control_characters(text: str) -> None:
    shown = printable(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert printable(text, lines=True).count("\n") == text.count("\n")


@given(st.text(), st.integers(1, 100))
def test_one_line_is_one_line_and_short(text: str, width: int) -> None:
    shown = one_line(text, width)
    assert "\n" not in shown
    assert len(shown) <= max(width, len(f"... ({len(text):,} characters)") + 1)


def test_lists_of_names() -> None:
    assert listed(["a, b", "c"], set()) == ["a", "b", "c"]
    assert listed(["a,b", "a,c"], {"a,b", "a", "c"}) == ["a,b", "a", "c"]
    assert listed([" a"], {" a"}) == [" a"]


def test_every_argument_that_hints_name_here_is_named_in_the_library() -> None:
    root = Path(ingot.__file__).parent
    source = "".join(
        path.read_text() for folder in ("ir", "format", "convert") for path in (root / folder).rglob("*.py")
    )
    for said, option in OPTIONS.items():
        assert said in source
        assert for_the_command_line(f"give it: {said}!") == f"give it: {option}!"
