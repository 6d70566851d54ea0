"""Worker: open every test model of onnxruntime with it and with `ingot.compat`, run both, and compare.

    python -m benchmarks.peer_tests.models FOLDER RESULTS START

Inputs are those of a `test_data_set_0` beside the model, else random ones of sizes with which onnxruntime runs it. The
outcome of a model is

- `agrees`;
- `refused`: ingot raises where onnxruntime returns;
- `differs`, or `one step` for integers that differ by one at most;
- `no agreement`: ingot differs or raises, and onnxruntime does not agree with itself: with other seeds, or between a
  session that optimises the model and one that does not, whose results differ or of which one raises;
- `no comparison`: onnxruntime does not open the model, or does not run it on any inputs that were tried.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from benchmarks.peer_tests.watch import Results
from ingot.compat import onnxruntime as ours
from ingot.dtypes import DType

_SUFFIXES = (".onnx", ".ort")
_CPU = ["CPUExecutionProvider"]
_TOLERANCES = {np.float16: 1e-2, ml_dtypes.bfloat16: 5e-2, np.float32: 1e-3, np.float64: 1e-6}
"""Of the largest element of a result, by its type."""


def main(arguments: Sequence[str]) -> None:
    folder, results = Path(arguments[0]), Results(arguments)
    onnxruntime.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    for path in model_files(folder)[results.start :]:
        item = str(path.relative_to(folder))
        results.begin(item)
        os.chdir(path.parent)
        results.end(item, *compared(path))
    os._exit(0)


def model_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())


def compared(path: Path) -> tuple[str, str]:
    """The outcome of a model, and the reason."""
    try:
        peer = _session(path)
    except Exception as error:
        return "no comparison", f"onnxruntime does not open it: {_said(error)}"
    feeds: Mapping[str, Any] = {}
    wanted: list[Any] | None = None
    reason = ""
    for feeds in _tries(path, peer):
        try:
            wanted = peer.run(None, dict(feeds))
            break
        except Exception as error:
            reason = _said(error)
    if wanted is None:
        return "no comparison", f"onnxruntime does not run it: {reason}"
    try:
        results = ours.InferenceSession(str(path), providers=_CPU).run(None, feeds)
        outcome, detail = _outcome(peer, wanted, results)
    except Exception as error:
        outcome, detail = "refused", _said(error)
    if outcome == "agrees":
        return outcome, detail
    doubt = _doubt(path, feeds, wanted)
    return ("no agreement", f"{doubt}; {outcome}: {detail}") if doubt else (outcome, detail)


def _session(path: Path, *, optimised: bool = True) -> Any:
    options = onnxruntime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=_CPU)


def _outcome(peer: Any, wanted: Sequence[Any], results: Sequence[Any]) -> tuple[str, str]:
    for output, expected, result in zip(peer.get_outputs(), wanted, results, strict=True):
        reason = difference(expected, result)
        if reason:
            return "one step" if reason == _ONE_STEP else "differs", f"{output.name}: {reason}"
    return "agrees", ""


def _doubt(path: Path, feeds: Mapping[str, Any], wanted: Sequence[Any]) -> str:
    """Why onnxruntime's results are no measure, empty if they are one."""
    for seed, optimised in (*((seed, True) for seed in range(8)), (0, False)):
        onnxruntime.set_seed(seed)
        change = f"seed {seed}" if optimised else "no optimisation"
        try:
            peer = _session(path, optimised=optimised)
            outcome, detail = _outcome(peer, wanted, peer.run(None, dict(feeds)))
        except Exception as error:
            outcome, detail = "raises", _said(error)
        if outcome != "agrees":
            return f"with {change} onnxruntime {outcome} ({detail})"
    return ""


_ONE_STEP = "integers differ by one"


def difference(expected: Any, result: Any) -> str:
    """How two results differ, empty if they agree."""
    if isinstance(expected, list | tuple):
        if not isinstance(result, list | tuple) or len(expected) != len(result):
            return f"{len(expected)} items against {result!r:.60}"
        return next(filter(None, map(difference, expected, result)), "")
    if isinstance(expected, dict):
        if not isinstance(result, dict) or list(expected) != list(result):
            return f"keys {list(expected)!r:.60} against {result!r:.60}"
        return next(filter(None, map(difference, expected.values(), result.values())), "")
    if expected is None or result is None:
        return "" if expected is result else f"{expected!r:.60} against {result!r:.60}"
    if isinstance(expected, onnxruntime.SparseTensor):
        return difference(expected.values(), result.values())
    one, other = np.asarray(expected), np.asarray(result)
    if one.shape != other.shape:
        return f"shape {one.shape} against {other.shape}"
    if one.dtype != other.dtype:
        return f"type {one.dtype} against {other.dtype}"
    if one.dtype == object or one.dtype.kind in "US":
        return "" if (one == other).all() else "other strings"
    if one.dtype.type in _TOLERANCES:
        return _float_difference(one.astype(np.float64), other.astype(np.float64), _TOLERANCES[one.dtype.type])
    if np.array_equal(one, other):
        return ""
    if one.dtype.kind in "iu" and np.abs(one.astype(np.int64) - other.astype(np.int64)).max() == 1:
        return _ONE_STEP
    return f"{np.count_nonzero(one != other)} of {one.size} elements differ"


def _float_difference(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], tolerance: float) -> str:
    finite = np.isfinite(one)
    if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
        return "other elements are infinite or not a number"
    if not finite.any():
        return ""
    scale = max(float(np.abs(one[finite]).max()), 1.0)
    largest = float(np.abs(one[finite] - other[finite]).max()) / scale
    if largest <= tolerance:
        return ""
    count = np.count_nonzero(np.abs(one[finite] - other[finite]) > tolerance * scale)
    return f"{count} of {one.size} elements, by {largest:.1e} of the largest"


def _tries(path: Path, session: Any) -> Iterator[Mapping[str, Any]]:
    """Feeds to try, the likeliest first."""
    stored = _stored(path, session)
    if stored is not None:
        yield stored
    for size in (2, 1, 4, 8, 3, 16):
        for largest in (1, 0, 3):
            inputs = session.get_inputs()
            yield {argument.name: _random(argument.type, argument.shape, size, largest) for argument in inputs}


def _stored(path: Path, session: Any) -> Mapping[str, Any] | None:
    folder = path.parent / "test_data_set_0"
    arguments = session.get_inputs()
    files = [folder / f"input_{index}.pb" for index in range(len(arguments))]
    if not arguments or not all(file.exists() for file in files):
        return None
    feeds = {}
    for argument, file in zip(arguments, files, strict=True):
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString(file.read_bytes())
            feeds[argument.name] = numpy_helper.to_array(tensor)
        except Exception:
            return None
    return feeds


def _random(type_: str, shape: Sequence[Any], size: int, largest: int) -> Any:
    """A value of a type as onnxruntime names it; unknown sizes are `size`, integers 0 to `largest`."""
    kind, _, inner = type_.partition("(")
    if kind == "seq":
        return [_random(inner[:-1], [size, size], size, largest) for _ in range(2)]
    if kind == "optional":
        return _random(inner[:-1], shape, size, largest)
    if kind == "map":
        return {"a": 1.0} if inner.startswith("string") else {0: 1.0}
    rng = np.random.default_rng(0)
    dims = [dim if isinstance(dim, int) else size for dim in shape]
    element = inner[:-1]
    if element == "string":
        return np.array([f"text{index}" for index in range(int(np.prod(dims)))], object).reshape(dims)
    if element == "bool":
        return rng.integers(0, 2, dims).astype(bool)
    dtype = next(dtype for dtype in DType if dtype.onnx_name == element).numpy
    if "int" in element:
        return rng.integers(0, largest + 1, dims).astype(dtype)
    return rng.standard_normal(dims).astype(dtype)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


if __name__ == "__main__":
    main(sys.argv[1:])
