"""`src/ingot/ops/index.py`, from the modules of this package: `python -m ingot.ops.write_index`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, TypeAlias

import ingot.ops
from ingot.ops.define import Operator, Rule

INDEX = Path(__file__).with_name("index.py")

_DOCSTRING = '''"""The modules of each operator, by domain and name: what defines its meanings, or attaches a rule.

Those that attach nothing but rules to downgrade are in a table of their own: sessions need none of them. `python -m
ingot.ops.write_index` writes this file; a test fails where it is not up to date.
"""'''

Index: TypeAlias = dict[str, dict[str, str]]


def index() -> tuple[Index, Index]:
    """The modules under `ingot.ops` of each operator, in the order in which they are first executed.

    In a second index are those that attach rules to downgrade alone. It has to be called before any of them is
    imported: RuntimeError otherwise.
    """
    early = [name for name in sys.modules if name.startswith("ingot.ops.") and name.count(".") > 2]
    if early:
        raise RuntimeError(f"{early[0]} is imported already")
    executed: dict[tuple[str, str], dict[str, set[str]]] = {}

    class Recording(Operator):
        """An operator that records which modules define it and attach its rules."""

        __slots__ = ()

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.record("define")

        def _attach(self, kind: str, rule: Rule) -> Rule:
            self.record(kind)
            return super()._attach(kind, rule)

        def record(self, what: str) -> None:
            executed.setdefault((self.domain, self.name), {}).setdefault(_executing(), set()).add(what)

    define = import_module("ingot.ops.define")
    define.Operator = Recording  # type: ignore[attr-defined]
    try:
        for module in walk_packages(ingot.ops.__path__, "ingot.ops."):
            import_module(module.name)
    finally:
        define.Operator = Operator  # type: ignore[attr-defined]
    every: Index = {}
    downgrading: Index = {}
    for (domain, name), modules in sorted(executed.items()):
        for table, is_downgrading in ((every, False), (downgrading, True)):
            own = [module for module, what in modules.items() if (what == {"downgrade"}) == is_downgrading]
            if own:
                table.setdefault(domain, {})[name] = " ".join(module.removeprefix("ingot.ops.") for module in own)
    return every, downgrading


def text_of(modules: Index, downgrading: Index) -> str:
    """The source of the index."""
    return "\n".join((_DOCSTRING, "", *_lines("MODULES", modules), "", *_lines("DOWNGRADES", downgrading))) + "\n"


def _lines(table: str, modules: Index) -> Iterator[str]:
    yield f"{table} = {{"
    for domain, names in modules.items():
        yield f'    "{domain}": {{'
        yield from (f'        "{name}": "{own}",' for name, own in names.items())
        yield "    },"
    yield "}"


def _executing() -> str:
    """The module that is being executed."""
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>":
        assert frame.f_back is not None
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


if __name__ == "__main__":
    INDEX.write_text(text_of(*index()), encoding="utf-8")
