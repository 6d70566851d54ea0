"""Which of PyTorch's core operators convert: torch's own test inputs, converted, run by the reference, and compared.

`python -m benchmarks.torch_operators [--core] [--only NAME ...] [--shard I/N] [--cap S] [--log FILE [--resume]]`
walks all sample inputs (OpInfo) and writes benchmarks/results/torch_operators.md; with `--only` or `--shard` it writes
only the log. `--page LOG ...` writes the page of logs. A sample counts for every operator that torch.export and the
decompositions leave in its program. Samples of the core operators run a second time with a first axis that stays open.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from benchmarks.torch_operator_cases import CASES
from benchmarks.torch_operator_page import Outcome, core_operators, page
from benchmarks.torch_reused import reused_tables
from ingot.convert.request import Request
from ingot.convert.source import Source
from ingot.convert.torch import convert_torch
from ingot.convert.torch.rule import COMPLEX, Rule, rules
from ingot.convert.verify import compare
from ingot.errors import ConvertError, IngotError
from ingot.session import Session

RESULTS = Path(__file__).parent / "results" / "torch_operators.md"
DTYPES = (torch.float32, torch.int64, torch.bool)
CAP_SECONDS = 20.0
"""Of the processor, for one test case and all its samples; what is not reached is counted in the page."""
OPENED = 4
"""Samples of a core operator that run with an open axis too."""
CALLERS = {
    "cdist", "clamp_max", "clamp_min", "constant_pad_nd", "fft_fft", "fft_irfft", "fft_rfft", "istft", "stft",
    "log_softmax", "nn_functional_adaptive_avg_pool1d", "nn_functional_adaptive_avg_pool2d",
    "nn_functional_adaptive_avg_pool3d", "nn_functional_batch_norm", "nn_functional_conv1d", "nn_functional_conv2d",
    "nn_functional_conv3d", "nn_functional_conv_transpose1d", "nn_functional_conv_transpose2d",
    "nn_functional_conv_transpose3d", "nn_functional_dropout", "nn_functional_elu", "nn_functional_embedding",
    "nn_functional_embedding_bag", "nn_functional_grid_sample", "nn_functional_group_norm",
    "nn_functional_instance_norm", "nn_functional_interpolate_bilinear", "nn_functional_interpolate_nearest",
    "nn_functional_layer_norm", "nn_functional_linear", "nn_functional_max_pool2d", "nn_functional_max_pool3d",
    "nn_functional_pad_reflect", "nn_functional_pad_replicate", "nn_functional_pdist",
    "nn_functional_scaled_dot_product_attention", "nn_functional_silu", "nn_functional_softplus",
    "nn_functional_unfold", "softmax", "to",
}  # fmt: skip
"""Test cases of other names whose programs are core operators that have none of their own, or few."""
RANDOM = {
    "rand", "randn", "randperm", "native_dropout", "bernoulli", "randint", "multinomial", "uniform", "normal",
    "rand_like", "randn_like", "randint_like", "cauchy", "exponential", "geometric", "log_normal", "rrelu_with_noise",
    "normal_functional",
}  # fmt: skip
"""Operators whose results are drawn: their types and shapes are compared."""
UNWRITTEN = {
    "empty", "empty_strided", "empty_like", "new_empty", "empty_permuted", "new_empty_strided", "resize",
}  # fmt: skip
"""Operators whose results hold whatever was in memory."""
UNORDERED = {"aten.topk.default", "aten.sort.default", "aten.kthvalue.default", "aten.median.dim"}
"""Operators that give places too, and promise no order of them among equal values."""


@dataclass(frozen=True)
class Sample:
    """A call with its name; `case` is the test case it belongs to."""

    case: str
    name: str
    module: Any
    tensors: list[Any]
    open_axis: bool = False


@dataclass
class Walk:
    """What the walk has found, written to a log as it goes."""

    log: Path | None
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self.log is not None:
            with self.log.open("a") as stream:
                stream.write(json.dumps(asdict(outcome)) + "\n")


class Call(torch.nn.Module):  # type: ignore[misc]
    """A function with its arguments that are no tensors."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.fn = fn
        leaves, self.spec = pytree.tree_flatten((args, kwargs))
        self.fixed = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def forward(self, *tensors: Any) -> Any:
        leaves = list(self.fixed)
        for at, tensor in zip(self.places, tensors, strict=True):
            leaves[at] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.fn(*args, **kwargs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="store_true", help="only test cases of core operators, and our own")
    parser.add_argument("--only", nargs="*", help="only test cases whose name contains one of these")
    parser.add_argument("--shard", default="0/1", help="I/N: every Nth test case, from the Ith")
    parser.add_argument("--cap", type=float, default=CAP_SECONDS, help="seconds of the processor for one test case")
    parser.add_argument("--log", type=Path, help="a file that each outcome is appended to")
    parser.add_argument("--resume", action="store_true", help="leave out the samples that the log has")
    parser.add_argument("--page", nargs="+", type=Path, help="only write the page of these logs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.page:
        RESULTS.write_text(page(latest(options.page)))
        return
    walk = Walk(options.log, logged(options.log) if options.resume else [])
    if options.log is not None and not options.resume:
        options.log.unlink(missing_ok=True)
    with reused_tables():
        walked(walk, options)
    if options.only:
        for outcome in walk.outcomes:
            if outcome.verdict not in ("equal", "not reached"):
                print(f"{outcome.verdict}: {outcome.sample}: {outcome.problem or outcome.refused}")
        print(Counter(outcome.verdict for outcome in walk.outcomes))
    elif options.shard == "0/1":
        RESULTS.write_text(page(walk.outcomes))


def logged(path: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in path.read_text().splitlines()]


def latest(paths: list[Path]) -> list[Outcome]:
    """The last outcome of each sample over several logs, of those that say more than that it was not reached."""
    found: dict[str, Outcome] = {}
    for outcome in (outcome for path in paths for outcome in logged(path)):
        if outcome.verdict != "not reached" or outcome.sample not in found:
            found[outcome.sample] = outcome
    return list(found.values())


def walked(walk: Walk, options: argparse.Namespace) -> None:
    """Try every sample; a test case past its time is left, which the walk notes."""
    done = {outcome.sample for outcome in walk.outcomes}
    spent: dict[str, float] = defaultdict(float)
    for at, sample in enumerate(samples(options)):
        if sample.name in done:
            continue
        if spent[sample.case] > options.cap:
            walk.add(Outcome(sample.name, "not reached"))
            continue
        started = time.process_time()
        outcome = tried(sample)
        spent[sample.case] += time.process_time() - started
        if outcome.verdict == "wrong":
            print(f"wrong: {sample.name}: {outcome.problem} ({', '.join(outcome.used)})", flush=True)
        if not (sample.open_axis and outcome.verdict == "not exported"):  # torch found that its size is fixed
            walk.add(outcome)
        if at % 500 == 499:
            print(f"{at + 1} samples, at {sample.case}", flush=True)


def samples(options: argparse.Namespace) -> Iterator[Sample]:
    """Our own calls, then torch's: those of core operators first, each first without and then with an open axis."""
    from torch.testing._internal.common_methods_invocations import op_db  # needs the package expecttest

    part, parts = map(int, options.shard.split("/"))
    if part == 0:
        yield from (own for own in our_samples() if not options.only or any(part in own.case for part in options.only))
    core = {target.split(".")[1] for target in core_operators()}
    infos = sorted(op_db, key=lambda info: (info.aten_name not in core, info.formatted_name not in CALLERS))
    for info in infos[part::parts]:
        if options.only and not any(part in info.formatted_name for part in options.only):
            continue
        if options.core and info.aten_name not in core and info.formatted_name not in CALLERS:
            break
        for dtype in DTYPES:
            if dtype in info.supported_dtypes("cpu"):
                yield from samples_of(info, dtype, opened=info.aten_name in core)


def our_samples() -> Iterator[Sample]:
    for name, fn, args in CASES:
        yield Sample(name, f"our {name}", Call(fn, args, {}), tensors_of(args))


def samples_of(info: Any, dtype: Any, *, opened: bool) -> Iterator[Sample]:
    torch.manual_seed(0)
    try:
        found = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception:  # torch itself has none that it can make
        return
    case = f"{info.formatted_name}, {str(dtype).removeprefix('torch.')}"
    left = OPENED if opened and dtype is torch.float32 else 0
    for at, sample in enumerate(found):
        args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
        tensors = tensors_of((args, kwargs))
        name = f"{case}, sample {at}"
        yield Sample(case, name, Call(info.op, args, kwargs), tensors)
        if left and tensors and tensors[0].dim() and tensors[0].shape[0] > 1:
            left -= 1
            yield Sample(case, f"{name}, open", Call(info.op, args, kwargs), tensors, open_axis=True)


def tensors_of(arguments: Any) -> list[Any]:
    return [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]


def tried(sample: Sample) -> Outcome:
    """What became of a sample."""
    used: set[str] = set()

    def recorded(target: str, rule: Rule[..., Any]) -> Rule[..., Any]:
        def write(*args: Any, **kwargs: Any) -> Any:
            used.add(target.removeprefix(COMPLEX))
            return rule(*args, **kwargs)

        return Rule((target,), write)

    table = {target: recorded(target, rule) for target, rule in rules().items()}
    request = Request(dynamic_axes=open_axes(sample), options={"custom_translation_table": table})
    torch.manual_seed(0)
    distances: list[float] = []
    try:
        source = convert_torch(sample.module, tuple(sample.tensors), request)
        problem = difference(source, used, sample, distances)
    except ConvertError as error:
        if "torch.export cannot" in error.message:
            return Outcome(sample.name, "not exported", problem=error.message)
        found = dict(line.partition(": ")[::2] for line in error.where)
        reasons = {target: reason.partition(" (in")[0] for target, reason in found.items()}
        return Outcome(sample.name, "refused", refused=reasons or {"": error.message})
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if sample.case in core_operators():
        used.add(sample.case)
    verdict = "equal" if problem is None else "wrong"
    return Outcome(sample.name, verdict, sorted(used), {}, problem or "", distances)


def open_axes(sample: Sample) -> Any:
    """The first axis of all tensors that have it in the size of the first."""
    if not sample.open_axis:
        return None
    size = sample.tensors[0].shape[0]
    return {
        f"tensors_{at}": {0: "n"}
        for at, tensor in enumerate(sample.tensors)
        if tensor.dim() and tensor.shape[0] == size
    }


def difference(source: Source, used: set[str], sample: Sample, distances: list[float]) -> str | None:
    """How the model differs from the original, on every example; None if it does not.

    `distances` becomes, of float32 results, how far the model is from torch, from torch in float64, and torch itself.
    """
    session = Session(source.model, providers=("reference",))
    names = [value.name for value in source.model.outputs]
    for feeds in source.examples:
        try:
            found = session.run(None, feeds)
        except IngotError as error:
            return f"{type(error).__name__}: {error.message}"
        problem = differs(source, feeds, names, source.original(feeds), found, used)
        if problem is not None:
            return problem
    words = {target.split(".")[1] for target in used if target.startswith("aten.")}
    if not sample.open_axis and not words & (RANDOM | UNWRITTEN):
        distances += measured(sample, source, found)
    return None


def differs(
    source: Source, feeds: Any, names: list[str], expected: list[Any], found: list[Any], used: set[str]
) -> str | None:
    words = {target.split(".")[1] for target in used if target.startswith("aten.")}
    if used & UNORDERED and len(found) == 2:
        first = np.asarray(feeds["tensors_0"])
        if np.unique(first).size < first.size:
            found, expected, names = found[:1], expected[:1], names[:1]
    for name, wanted, got in zip(names, expected, found, strict=True):
        if np.asarray(got).dtype != np.asarray(wanted).dtype:
            return f"'{name}' is {np.asarray(got).dtype}, expected {np.asarray(wanted).dtype}"
        if words & (RANDOM | UNWRITTEN):
            if np.shape(got) != np.shape(wanted):
                return f"'{name}' has shape {np.shape(got)}, expected {np.shape(wanted)}"
            continue
        _, problem = compare(name, wanted, got, source.tolerance)
        if problem is not None:
            return f"'{name}': {problem}"
    return None


def measured(sample: Sample, source: Source, found: list[Any]) -> list[float]:
    """Three distances over all float32 results: ours to torch's, ours to the truth, torch's to the truth.

    A distance is the least tolerance, absolute and relative alike, that would let it pass.
    """
    wanted = source.original(source.examples[0])
    places = [at for at, array in enumerate(wanted) if np.asarray(array).dtype == np.float32]
    if not places:
        return []
    wide = [t.double() if t.dtype is torch.float32 else t for t in sample.tensors]
    try:
        with torch.no_grad():
            made = sample.module(*wide)
        truth = [leaf for leaf in pytree.tree_leaves(made) if isinstance(leaf, torch.Tensor)]
        truth = [torch.view_as_real(leaf.resolve_conj()) if leaf.is_complex() else leaf for leaf in truth]
    except Exception:  # an operator that has no float64, or arguments that ask for float32
        return []
    if len(truth) != len(wanted) or any(truth[at].dtype is not torch.float64 for at in places):
        return []
    pairs = [(np.asarray(found[at]), np.asarray(wanted[at]), truth[at].numpy()) for at in places]
    return [
        max(distance(ours, torchs) for ours, torchs, _ in pairs),
        max(distance(ours, exact) for ours, _, exact in pairs),
        max(distance(torchs, exact) for _, torchs, exact in pairs),
    ]


def distance(one: Any, other: Any) -> float:
    a, b = np.asarray(other, np.float64), np.asarray(one, np.float64)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | ~np.isfinite(a) | ~np.isfinite(b)
        return float(np.where(same, 0.0, np.abs(a - b) / (1 + np.abs(a))).max(initial=0.0))


if __name__ == "__main__":
    main()
