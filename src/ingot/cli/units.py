"""Sizes in bytes, as people write and read them."""

from __future__ import annotations

import re
from decimal import Decimal

import click

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_FACTORS = {"": 1, "B": 1} | {
    prefix + suffix: base**power
    for power, prefix in enumerate("KMGT", 1)
    for suffix, base in (("", 1024), ("IB", 1024), ("B", 1000))
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def size_text(count: int) -> str:
    """`812 B`, `1.5 KiB`, `2.0 GiB`: three or four digits and a unit."""
    amount, unit = float(count), 0
    while amount >= 1023.95 and unit < len(_UNITS) - 1:  # what would round to 1024.0
        amount, unit = amount / 1024, unit + 1
    return f"{count:,} B" if unit == 0 else f"{amount:,.1f} {_UNITS[unit]}"


def counted(count: int, noun: str) -> str:
    """`1 tensor`, `1,200 tensors`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """An option's size in bytes: `1024`, `1K` and `1KiB` are the same, `1KB` is 1000. A usage error if it is none."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value.strip())
    if match is None or match[2].upper() not in _FACTORS:
        raise click.BadParameter(f"{value!r} is not a size; write 1024, 64K, 1.5MiB or 10MB", ctx, param)
    return int(Decimal(match[1]) * _FACTORS[match[2].upper()])
