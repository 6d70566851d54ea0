"""Going through primitives: what a tensor is computed from comes before it."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.prim.tensor import Tensor


def in_order(results: Sequence[Tensor]) -> list[Tensor]:
    """Everything that `results` are computed from, each once, after what it reads."""
    done: dict[Tensor, None] = {}
    pending: list[tuple[Tensor, bool]] = [(result, False) for result in reversed(results)]
    while pending:
        tensor, ready = pending.pop()
        if tensor in done:
            continue
        if ready:
            done[tensor] = None
            continue
        pending.append((tensor, True))
        pending.extend((each, False) for each in reversed(tensor.reads) if each not in done)
    return list(done)
