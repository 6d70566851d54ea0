"""The session underneath: ours, with what onnxruntime's API needs of a run and ours does not offer yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeAlias

from ingot.ir.node import Node
from ingot.ops.catalog import Catalog
from ingot.ops.define import Operator
from ingot.runtime.evaluate import Evaluation
from ingot.session import Cancel, Interrupted, Session

Observer: TypeAlias = Callable[[Node, Sequence[Any]], AbstractContextManager[list[Any]]]
"""Entered around a node with its inputs; its outputs are put into the list."""


class Engine(Session):
    """A session whose runs may each have a seed of their own and be watched node by node."""

    def run_with(
        self,
        outputs: Sequence[str],
        feeds: Mapping[str, Any],
        *,
        cancel: Cancel,
        seed: int = 0,
        observer: Observer | None = None,
    ) -> list[Any]:
        """As `run`; random operators without a seed follow from `seed`."""

        def proceed() -> None:
            if cancel.cancelled:
                raise Interrupted("the run was cancelled")

        ready = self._checked(feeds)
        evaluation = _Observed(self._ready, self.catalog, seed=seed, proceed=proceed)
        evaluation.observer = observer
        return evaluation.run(ready, outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        _, arguments = super().__reduce__()
        return _restored, arguments


def _restored(data: bytes, catalog: Catalog | None, seed: int) -> Engine:
    return Engine(data, catalog=catalog, seed=seed)


class _Observed(Evaluation):
    observer: Observer | None = None

    def operator(self, node: Node, imports: Mapping[str, int]) -> Operator:
        found = super().operator(node, imports)
        observer = self.observer
        if observer is None:
            return found

        def evaluate(*inputs: Any, **attributes: Any) -> Any:
            with observer(node, inputs) as results:
                result = found.evaluate(*inputs, **attributes)
                results.extend(result if isinstance(result, tuple) else [result])
            return result

        return replace(found, evaluate=evaluate)
