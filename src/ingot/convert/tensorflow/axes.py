"""What the sizes that stay open are called: as the caller names them, and where two are one, by one name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingot.convert.request import DynamicAxes
from ingot.convert.tensorflow.program import Program
from ingot.convert.tensorflow.rule import static_shape
from ingot.errors import InputError, nearest

_BATCH = "batch"


def named_axes(
    program: Program,
    names: Sequence[str],
    wanted: DynamicAxes | None,
    runs: Callable[[Any], bool],
    probe: Callable[[Mapping[tuple[str, int], int]], Any],
) -> dict[str, dict[int, str]]:
    """By input, a name for each axis whose size TensorFlow does not know.

    The caller's names; else the first axes are all called `batch` where the original does not run with several sizes
    of them and runs with one, and axes are called after their inputs. `runs` is whether it runs on what `probe`
    makes of sizes. InputError for a name or axis that the function does not have.
    """
    own = _wanted(wanted, program, names)
    by_name: dict[str, dict[int, str]] = {}
    first: list[str] = []
    for name, tensor in zip(names, program.inputs, strict=True):
        sizes = static_shape(tensor) or ()
        by_name[name] = {}
        for axis, size in enumerate(sizes):
            if size is not None:
                continue
            called = own.get(name, {}).get(axis)
            by_name[name][axis] = called or f"{name}_dim_{axis}"
            if axis == 0 and called is None:
                first.append(name)
    if len(first) == 1 or (first and _alike(first, runs, probe)):
        for name in first:
            by_name[name][0] = _BATCH
    return by_name


def _alike(
    first: Sequence[str], runs: Callable[[Any], bool], probe: Callable[[Mapping[tuple[str, int], int]], Any]
) -> bool:
    """Whether the original refuses first axes of different sizes and takes equal ones."""
    return runs(probe({(name, 0): 2 for name in first})) and not any(
        runs(probe({(name, 0): 3 if name == other else 2 for name in first})) for other in first
    )


def _wanted(wanted: DynamicAxes | None, program: Program, names: Sequence[str]) -> dict[str, dict[int, str]]:
    if wanted is None:
        return {}
    renamed = dict(zip(program.input_names, names, strict=True))
    pairs = wanted.items() if isinstance(wanted, Mapping) else zip(names, wanted, strict=False)
    ranks = {name: len(static_shape(tensor) or ()) for name, tensor in zip(names, program.inputs, strict=True)}
    by_name: dict[str, dict[int, str]] = {}
    for key, axes in pairs:
        name = key if key in ranks else renamed.get(key, key)
        if name not in ranks:
            if key in program.output_names:
                continue  # sizes of outputs follow from those of inputs
            raise InputError(f"dynamic_axes names '{key}', which is no input", hint=nearest(key, names))
        for axis in axes:
            if not -ranks[name] <= axis < ranks[name]:
                raise InputError(f"dynamic_axes has axis {axis} of '{name}', which has {ranks[name]} axes")
        called = axes if isinstance(axes, Mapping) else {axis: f"{name}_dim_{axis}" for axis in axes}
        by_name[name] = {axis % max(ranks[name], 1): own for axis, own in called.items()}
    return by_name
