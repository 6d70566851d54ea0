"""Options of a session that its model brings along, in the metadata entry `ort_config`."""

from __future__ import annotations

import json
import os
from typing import Any

from ingot.compat.onnxruntime.enums import ExecutionMode, GraphOptimizationLevel
from ingot.compat.onnxruntime.options import SessionOptions
from ingot.format.load import load

_VARIABLE = "ORT_LOAD_CONFIG_FROM_MODEL"
_KEY = "ort_config"
_ENUMS = {"execution_mode": ExecutionMode, "graph_optimization_level": GraphOptimizationLevel}
_NUMBERS = ("inter_op_num_threads", "intra_op_num_threads")


def is_wanted() -> bool:
    """Whether the environment asks for the options of models in the place of the program's."""
    return os.environ.get(_VARIABLE) == "1"


def options_of(source: str | bytes) -> SessionOptions:
    """The options that a model brings along, defaults where it says nothing; RuntimeError for values there are not."""
    options = SessionOptions()
    for name, value in _entries(load(source, external="defer").metadata.get(_KEY, "")).items():
        known = name in _NUMBERS or name in _ENUMS or name == "enable_profiling"
        if known and (not isinstance(value, int) or isinstance(value, bool)):
            raise RuntimeError(f"{name} option in the model file must be an integer")
        if name in _NUMBERS:
            setattr(options, name, value)
        elif name in _ENUMS:
            if value not in [int(member) for member in _ENUMS[name]]:
                raise RuntimeError(f"Unsupported {name} value in ORT config: {value}")
            setattr(options, name, _ENUMS[name](value))
        elif name == "enable_profiling":
            if value not in (0, 1):
                raise RuntimeError(f"Unsupported value for {name} option: {value}")
            options.enable_profiling = value == 1
    return options


def _entries(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        config = json.loads(text)
    except ValueError as error:
        raise RuntimeError(f"Json stored in the `{_KEY}` key cannot be parsed. Error message: {error}") from None
    chosen = config.get("session_options") if isinstance(config, dict) else None
    return chosen if isinstance(chosen, dict) else {}
