"""A profile: the nodes a session ran and how long each took, as a Chrome trace."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import numpy as np

from ingot.compat.onnxruntime.providers import CPU
from ingot.dtypes import DType
from ingot.ir.node import Node


class Profile:
    """Events of one session, from when it is made; written once, by `end`."""

    def __init__(self, prefix: str) -> None:
        now = datetime.now()
        self.start_ns = time.time_ns()
        self.path = f"{prefix}_{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000}.json"
        self._begin = time.perf_counter_ns()
        self._events: list[dict[str, Any]] = []
        self._ended = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Around something a session does as a whole."""
        begin = time.perf_counter_ns()
        try:
            yield
        finally:
            self._add("Session", name, begin, {})

    def node(self, node: Node, inputs: Sequence[Any], outputs: Sequence[Any], seconds: float) -> None:
        """Note a node that has run."""
        details = {
            "op_name": node.op_type,
            "provider": CPU,
            "input_type_shape": _types(inputs),
            "output_type_shape": _types(outputs),
        }
        begin = time.perf_counter_ns() - int(seconds * 1e9)
        self._add("Node", f"{node.name or node.label}_kernel_time", begin, details)

    def end(self) -> str:
        """Write the file and return its path; an empty string if that has been done."""
        if self._ended:
            return ""
        self._ended = True
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(event) for event in self._events) + "\n]\n")
        return self.path

    def _add(self, category: str, name: str, begin: int, details: dict[str, Any]) -> None:
        if self._ended:
            return
        event = {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "dur": (time.perf_counter_ns() - begin) // 1000,
            "ts": (begin - self._begin) // 1000,
            "ph": "X",
            "name": name,
            "args": details,
        }
        self._events.append(event)


def _types(values: Sequence[Any]) -> list[dict[str, list[int]]]:
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    return [{DType.of(array.dtype).onnx_name: list(array.shape)} for array in arrays]
