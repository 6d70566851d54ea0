"""Arguments that name things inside a model: pairs, lists of values, text that a model can hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import click


def pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Arguments of the form `KEY=VALUE`, each cut at the first equals sign; a usage error where one has no key."""
    by_key: dict[str, str] = {}
    for value in values:
        key, equals, rest = _encodable(value, param, ctx).partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r} is not KEY=VALUE", ctx, param)
        by_key[key] = rest
    return by_key


def int64(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """A number; a usage error if it is wider than the 64 bits that a model has for it."""
    if value is not None and not -(1 << 63) <= value < 1 << 63:
        raise click.BadParameter(f"{value} does not fit 64 bits", ctx, param)
    return value


def utf8(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The value of an option; a usage error if it is not UTF-8, as everything in a model is."""
    return None if value is None else _encodable(value, param, ctx)


def listed(options: Iterable[str], known: Collection[str]) -> list[str]:
    """The names that options list, each one name or several with commas between; a name may have commas itself."""
    names: list[str] = []
    for option in options:
        names += [option] if option in known else [name.strip() for name in option.split(",") if name.strip()]
    return names


def connected(option: str, sources: Collection[str], targets: Collection[str]) -> tuple[str, str]:
    """The two names of `output=input`; where names have equals signs themselves, the cut that gives known ones."""
    parts = option.split("=")
    cuts = [("=".join(parts[:cut]), "=".join(parts[cut:])) for cut in range(1, len(parts))]
    if not cuts:
        raise click.BadParameter(f"{option!r} is not output=input", param_hint="--connect")
    return next(((left, right) for left, right in cuts if left in sources and right in targets), cuts[0])


def _encodable(value: str, param: click.Parameter, ctx: click.Context) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8, and all text in a model is", ctx, param) from None
    return value
