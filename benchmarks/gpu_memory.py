"""Operators that a GPU's memory limits: bytes a second of each beside PyTorch in a CUDA graph, the slowest first.

    python -m benchmarks.gpu_memory [--only TEXT] [--sizes 128,16,1] [--types float,float16,bfloat16] [--write]

Sizes are MiB of the largest input. What is counted as moved is every input and output once. It needs a GPU and PyTorch.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import ingot
from benchmarks.gpu import PROVIDERS, ROOT, Timer
from ingot import Session
from ingot.dataclass import dataclass
from ingot.ir.tensor import Tensor

RESULT = ROOT / "benchmarks" / "results" / "gpu_memory.md"

_HEAD = '<ir_version: 10, opset_import: ["" : 23]>'
_TYPES = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
_TOLERANCE = {"float": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Case:
    """An operator: a graph's body from `x`, with `n` rows as its size asks for, and the same in PyTorch.

    `others` are the shapes of `w`, `v` and `u`, of which None stands for the rows, or whole numbers as `Indices`. All
    but `x` are constants of the model, unless `constants` is False.
    """

    name: str
    row: tuple[int, ...]
    body: str
    peer: Callable[..., Any]
    others: tuple[Any, ...] = ()
    constants: bool = True


class Indices:
    """Whole numbers of a shape, below a limit and, where they are of rows, below the number of these."""

    def __init__(self, limit: int, *shape: int, of_rows: bool = False) -> None:
        self.limit, self.shape, self.of_rows = limit, shape, of_rows


def cases(torch: Any) -> list[Case]:
    f = torch.nn.functional
    axes = "a = Constant <value_ints = [{}]> ()"
    layer = "LayerNormalization (x, w, v)"
    return [
        Case("Relu", (4096,), "y = Relu (x)", lambda x: x.relu()),
        Case("Exp", (4096,), "y = Exp (x)", lambda x: x.exp()),
        Case("Gelu", (4096,), "y = Gelu (x)", lambda x: f.gelu(x)),
        Case("Gelu tanh", (4096,), 'y = Gelu <approximate = "tanh"> (x)', lambda x: f.gelu(x, approximate="tanh")),
        Case("Silu", (4096,), "s = Sigmoid (x) y = Mul (x, s)", lambda x: f.silu(x)),
        Case("Silu times", (4096,), "s = Sigmoid (x) t = Mul (x, s) y = Mul (t, w)", lambda x, w: f.silu(x) * w,
             ((None, 4096),), constants=False),
        Case("Erf", (4096,), "y = Erf (x)", lambda x: x.erf()),
        Case("Tanh", (4096,), "y = Tanh (x)", lambda x: x.tanh()),
        Case("Add", (4096,), "y = Add (x, w)", lambda x, w: x + w, ((None, 4096),), constants=False),
        Case("Add bias", (768,), "y = Add (x, w)", lambda x, w: x + w, ((768,),)),
        Case("Mul rows", (768,), "y = Mul (x, w)", lambda x, w: x * w, ((None, 1),), constants=False),
        Case("Add channels", (64, 56, 56), "y = Add (x, w)", lambda x, w: x + w, ((64, 1, 1),)),
        Case("Where", (4096,), "z = Constant <value_floats = [0.0]> () s = CastLike (z, x) c = Less (x, s) "
             "y = Where (c, s, x)", lambda x: torch.where(x < 0, 0, x)),
        Case("Softmax 128", (128,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("Softmax 512", (512,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("Softmax 1000", (1000,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("Softmax 4096", (4096,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("Softmax 8192", (8192,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("Softmax 50257", (50257,), "y = Softmax (x)", lambda x: x.softmax(-1)),
        Case("LogSoftmax 1000", (1000,), "y = LogSoftmax (x)", lambda x: x.log_softmax(-1)),
        Case("LayerNorm 768", (768,), f"y = {layer}", lambda x, w, v: f.layer_norm(x, (768,), w, v), ((768,), (768,))),
        Case("LayerNorm 4096", (4096,), f"y = {layer}", lambda x, w, v: f.layer_norm(x, (4096,), w, v),
             ((4096,), (4096,))),
        Case("Add, LayerNorm 768", (768,), "t = Add (x, u) y = LayerNormalization (t, w, v)",
             lambda x, w, v, u: f.layer_norm(x + u, (768,), w, v), ((768,), (768,), (None, 768)), constants=False),
        Case("RMSNorm 4096", (4096,), "y = RMSNormalization (x, w)", lambda x, w: f.rms_norm(x, (4096,), w, 1e-5),
             ((4096,),)),
        Case("ReduceSum 64", (64,), axes.format(1) + " y = ReduceSum (x, a)", lambda x: x.sum(1, keepdim=True)),
        Case("ReduceSum 1024", (1024,), axes.format(1) + " y = ReduceSum (x, a)", lambda x: x.sum(1, keepdim=True)),
        Case("ReduceMax 50000", (50000,), axes.format(1) + " y = ReduceMax (x, a)", lambda x: x.amax(1, keepdim=True)),
        Case("ReduceSum columns", (1024,), axes.format(0) + " y = ReduceSum (x, a)", lambda x: x.sum(0, keepdim=True)),
        Case("ReduceMean all", (4096,), "y = ReduceMean <keepdims = 0> (x)", lambda x: x.mean()),
        Case("ReduceMean images", (256, 7, 7), axes.format("2, 3") + " y = ReduceMean (x, a)",
             lambda x: x.mean((2, 3), keepdim=True)),
        Case("ReduceMean middle", (196, 768), axes.format(1) + " y = ReduceMean (x, a)",
             lambda x: x.mean(1, keepdim=True)),
        Case("ArgMax 32000", (32000,), "y = ArgMax <axis = 1> (x)", lambda x: x.argmax(1, keepdim=True)),
        Case("CumSum 1024", (1024,), "a = Constant <value_int = 1> () y = CumSum (x, a)", lambda x: x.cumsum(1)),
        Case("Transpose", (4096,), "y = Transpose (x)", lambda x: x.t().contiguous()),
        Case("Transpose heads", (128, 12, 64), "y = Transpose <perm = [0, 2, 1, 3]> (x)",
             lambda x: x.permute(0, 2, 1, 3).contiguous()),
        Case("Transpose to last", (64, 56, 56), "y = Transpose <perm = [0, 2, 3, 1]> (x)",
             lambda x: x.permute(0, 2, 3, 1).contiguous()),
        Case("Transpose from last", (56, 56, 64), "y = Transpose <perm = [0, 3, 1, 2]> (x)",
             lambda x: x.permute(0, 3, 1, 2).contiguous()),
        Case("Gather rows", (768,), "y = Gather (x, w)", lambda x, w: x[w], (Indices(1000, 64, 512, of_rows=True),),
             constants=False),
        Case("Gather columns", (1024,), "y = Gather <axis = 1> (x, w)", lambda x, w: x[:, w], (Indices(1024, 512),),
             constants=False),
        Case("Concat rows", (768,), "y = Concat <axis = 0> (x, w)", lambda x, w: torch.cat([x, w], 0),
             ((None, 768),), constants=False),
        Case("Concat columns", (768,), "y = Concat <axis = 1> (x, w)", lambda x, w: torch.cat([x, w], 1),
             ((None, 768),), constants=False),
        Case("Slice", (1024,), "s = Constant <value_ints = [256]> () e = Constant <value_ints = [768]> () "
             "a = Constant <value_ints = [1]> () y = Slice (x, s, e, a)", lambda x: x[:, 256:768].contiguous()),
        Case("Pad images", (64, 56, 56), "p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () y = Pad (x, p)",
             lambda x: f.pad(x, (1, 1, 1, 1))),
        Case("MaxPool 3 / 2", (64, 112, 112), "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], "
             "pads = [1, 1, 1, 1]> (x)", lambda x: f.max_pool2d(x, 3, 2, 1)),
        Case("AveragePool 2 / 2", (64, 112, 112), "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
             lambda x: f.avg_pool2d(x, 2)),
        Case("BatchNorm, Relu", (64, 56, 56), "t = BatchNormalization (x, w, v, w, u) y = Relu (t)",
             lambda x, w, v, u: f.batch_norm(x, w, u.abs(), w, v).relu(), ((64,), (64,), (64,))),
        Case("GroupNorm", (64, 32, 32), "y = GroupNormalization <num_groups = 8> (x, w, v)",
             lambda x, w, v: f.group_norm(x, 8, w, v), ((64,), (64,))),
        Case("Resize x2", (64, 56, 56), "s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () y = Resize "
             '<mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"> (x, , s)',
             lambda x: f.interpolate(x, scale_factor=2, mode="nearest")),
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="operators whose names contain one of these, by commas")
    parser.add_argument("--sizes", default="128,16,1")
    parser.add_argument("--types", default="float,float16,bfloat16")
    parser.add_argument("--alone", action="store_true", help="without PyTorch's times")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    timer, begin = Timer(), time.monotonic()
    rows: list[tuple[float, str]] = []
    wrong = 0
    chosen = [case for case in cases(timer.torch) if any(part in case.name for part in options.only.split(","))]
    for size in map(int, options.sizes.split(",")):
        for kind in options.types.split(","):
            for case in chosen:
                if time.monotonic() - begin > options.seconds:
                    print(f"{case.name} {kind} {size}: no time left", flush=True)
                    continue
                try:
                    ratio, line, is_right = _row(timer, case, kind, size, options.alone)
                except Exception as failure:
                    ratio, is_right = 0.0, False
                    why = f"failed: {type(failure).__name__}: {str(failure)[:100]}"
                    line = f"| {case.name} {kind} {size} | {why} | | | | |"
                rows.append((ratio, line))
                wrong += not is_right
                print(line, flush=True)
                timer.torch.cuda.empty_cache()
    rows.sort(key=lambda row: row[0])
    head = ["| operator | ours µs | torch µs | torch / ours | GB/s | error |", "|---|---|---|---|---|---|"]
    text = "\n".join([*head, *(line for _, line in rows)])
    print(text)
    if options.write:
        title = (
            "# Operators that the memory of a GPU limits\n\nWritten by `python -m benchmarks.gpu_memory --write`.\n\n"
        )
        RESULT.write_text(f"{title}{text}\n")
    return int(wrong > 0)


def _row(timer: Timer, case: Case, kind: str, size: int, is_alone: bool) -> tuple[float, str, bool]:
    torch, dtype = timer.torch, np.dtype(_TYPES[kind])
    arrays = arrays_of(case, dtype, max(1, (size << 20) // dtype.itemsize // int(np.prod(case.row))))
    model, feeds = model_of(case, kind, arrays)
    session = Session(model, providers=PROVIDERS, fallback=False)
    ours = timer.ours(session, feeds)[0]
    (result,) = session.run(None, feeds)
    compiled = session.compiled
    assert compiled is not None
    tensors = [_tensor(torch, array) for array in arrays]
    theirs = 0.0 if is_alone else timer.torchs(lambda: case.peer(*tensors))
    wide = [tensor.double() if tensor.is_floating_point() else tensor for tensor in tensors]
    expected = case.peer(*wide)
    own = _tensor(torch, result).double()
    error = float((own - expected).norm() / expected.double().norm().clamp_min(1e-30))
    if "ArgMax" in case.name:  # several may be equal
        expected = expected.reshape(own.shape)
        found, most = (wide[0].gather(1, at.long().reshape(-1, 1)) for at in (own, expected))
        error = float((found != most).sum())
    moved = sum(array.nbytes for array in (*arrays, result))
    if "Gather rows" in case.name:
        moved = 2 * result.nbytes
    refused = "" if not compiled.program.calls else " (calls)"
    line = (
        f"| {case.name} {kind} {size}{refused} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} "
        f"| {moved / ours / 1e3:.0f} | {error:.1e} |"
    )
    return theirs / ours, line, error < _TOLERANCE[kind]


def arrays_of(case: Case, dtype: Any, rows: int) -> list[Any]:
    """Random inputs of an operator, of so many rows: `x`, and the others."""
    arrays = [_random((rows, *case.row), dtype)]
    for other in case.others:
        if isinstance(other, Indices):
            most = min(other.limit, rows) if other.of_rows else other.limit
            arrays.append(np.random.default_rng(1).integers(0, most, other.shape))
        else:
            arrays.append(_random(tuple(rows if part is None else part for part in other), dtype))
    if "BatchNorm" in case.name:
        arrays[3] = np.abs(arrays[3]) + dtype.type(0.5)
    return arrays


def model_of(case: Case, kind: str, arrays: list[Any]) -> tuple[ingot.Model, dict[str, Any]]:
    """An operator as a model of a type, and what it is fed: what is constant is part of the model."""
    names = ["x", "w", "v", "u"][: len(arrays)]
    declared = ", ".join(
        f"{'int64' if array.dtype.kind == 'i' else kind}[{', '.join(map(str, array.shape))}] {name}"
        for name, array in zip(names, arrays, strict=True)
    )
    model = ingot.parse_model(f"{_HEAD} g ({declared}) => (y) {{ {case.body} }}")
    feeds = dict(zip(names, arrays, strict=True))
    for value in model.graph.inputs if case.constants else ():
        if value.name != "x":
            value.constant = Tensor(feeds.pop(value.name), name=value.name)
            model.graph.initializers.add(value)
    return model, feeds


def _random(shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers, which begin anew after a million and some."""
    block = np.random.default_rng(len(shape)).standard_normal((1 << 20) + 7, np.float32).astype(dtype)
    return np.resize(block, shape)


def _tensor(torch: Any, array: Any) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).cuda().view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array)).cuda()


if __name__ == "__main__":
    sys.exit(main())
