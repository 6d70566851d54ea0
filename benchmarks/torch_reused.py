"""torch's tables of decompositions made once, not for every program: most of the time that exporting a call takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from torch._subclasses import fake_impls
from torch.export import decomp_utils, exported_program

_FAKES = fake_impls.op_implementations_dict


@contextmanager
def reused_tables() -> Iterator[None]:
    """While it is open, which operators are composite is asked once, and their overridden kernels are kept.

    Right as long as no operator is registered meanwhile.
    """
    collected = cache(exported_program._collect_all_valid_cia_ops)
    plain = exported_program._collect_all_valid_cia_ops
    overridden = exported_program._override_composite_implicit_decomp
    exported_program._collect_all_valid_cia_ops = collected
    decomp_utils._collect_all_valid_cia_ops = collected
    exported_program._override_composite_implicit_decomp = _Kept(overridden)
    try:
        yield
    finally:
        exported_program._collect_all_valid_cia_ops = plain
        decomp_utils._collect_all_valid_cia_ops = plain
        exported_program._override_composite_implicit_decomp = overridden


class _Kept:
    """torch's context that overrides kernels of operators, which remembers what it made for a table."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        self._made: dict[Any, tuple[dict[Any, Any], dict[Any, Any]]] = {}

    @contextmanager
    def __call__(self, table: dict[Any, Any]) -> Iterator[None]:
        key = frozenset((overload, getattr(how, "__name__", "composite")) for overload, how in table.items())
        if key not in self._made:
            with self._plain(table):
                fakes = {overload: _FAKES[overload] for overload in table if overload in _FAKES}
                self._made[key] = _kernels(table), fakes
                yield
            return
        made, fakes = self._made[key]
        saved = _kernels(made)
        _swap(made)
        _FAKES.update(fakes)
        try:
            yield
        finally:
            _swap(saved)
            for overload in fakes:
                _FAKES.pop(overload, None)  # as torch's own does


def _kernels(overloads: Iterable[Any]) -> dict[Any, dict[Any, Any]]:
    return {overload: dict(overload.py_kernels) for overload in overloads}


def _swap(tables: dict[Any, dict[Any, Any]]) -> None:
    for overload, kernels in tables.items():
        overload.py_kernels.clear()
        overload.py_kernels.update(kernels)
        overload._dispatch_cache.clear()
