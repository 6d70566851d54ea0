"""What is known before a model runs: values that constants alone make."""

from __future__ import annotations

from ingot.ir.value import Value


def depends_on_inputs(value: Value) -> bool:
    """Whether a value is, or is computed from, an input of a graph; sizes of values with known shapes are constants."""
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        if current.constant is not None:
            continue
        producer = current.producer
        if producer is None:
            return True
        if producer.applies("Shape", "Size"):
            continue  # sizes are known where they are declared, and then folded
        for each in producer.inputs:
            if each is not None and each not in seen:
                seen.add(each)
                pending.append(each)
    return False
