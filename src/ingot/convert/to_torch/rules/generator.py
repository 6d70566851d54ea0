"""Tensors made of nothing but sizes and numbers, and of chance."""

from __future__ import annotations

from typing import Any

from ingot.convert.to_torch.dtypes import torch_dtype
from ingot.convert.to_torch.operand import Operand, Size, Sizes
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import integer, ints, number, number_of, scalar
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ops.limit import dense


@rule("Constant")
def constant(site: Site, **values: Any) -> Expression:
    kinds = {"value_float": DType.FLOAT32, "value_floats": DType.FLOAT32, "value_int": DType.INT64}
    name_of_value = next(name for name, value in values.items() if value is not None)
    value = values[name_of_value]
    if isinstance(value, SparseTensor):
        value = dense(value)
    if not isinstance(value, Tensor):
        dtype = DType.STRING if "string" in name_of_value else kinds.get(name_of_value, DType.INT64)
        value = Tensor(value, dtype)
    return site.constant(value)


@rule("ConstantOfShape")
def constant_of_shape(site: Site, shape: Operand, *, value: Tensor | None) -> Expression:
    dtype = DType.FLOAT32 if value is None else value.dtype
    filled = "0.0" if value is None else number_of(value.numpy().reshape(-1)[0], dtype)
    numbers = shape.numbers
    if dtype is DType.INT64 and value is not None and numbers is not None and len(numbers) == 1 and numbers[0] <= 8:
        return Sizes((Size.of(int(value.item())),) * numbers[0])
    options = "" if dtype is DType.FLOAT32 else f", dtype={torch_dtype(dtype)}"
    options += f", device={site.device}"
    if filled in ("0.0", "0", "False"):
        return f"torch.zeros({ints(shape)}{options})"
    if filled in ("1.0", "1", "True"):
        return f"torch.ones({ints(shape)}{options})"
    return f"torch.full({ints(shape)}, {filled}{options})"


@rule("Range")
def range_(site: Site, start: Operand, limit: Operand, delta: Operand, *, stash_type: int) -> Expression:
    dtype = site.dtype()
    if dtype.is_integer:
        first, last, step = (integer(one) for one in (start, limit, delta))
        options = "" if dtype is DType.INT64 else f", dtype={torch_dtype(dtype)}"
        bounds = f"{first}, {last}" if step == "1" else f"{first}, {last}, {step}"
        if (first, step) == ("0", "1"):
            bounds = last
        name = site.use("counted") if _may_be_none(start, limit, delta) else "torch.arange"
        return f"{name}({bounds}{options}, device={site.device})"
    bounds = ", ".join(one.literal or f"float({one})" for one in (start, limit, delta))
    return f"{site.use('counted')}({bounds}, dtype={torch_dtype(dtype)}, device={site.device})"


def _may_be_none(start: Operand, limit: Operand, delta: Operand) -> bool:
    """Whether the range may be empty because its end lies before its start, which torch refuses."""
    sizes = [one.sizes[0] if one.sizes else None for one in (start, limit, delta)]
    plain = [one is not None and one.natural for one in sizes]
    first, _, step = sizes
    return not (all(plain) and first is not None and first.number == 0 and step is not None and step.number)


@rule("EyeLike")
def eye_like(site: Site, x: Operand, *, dtype: int | None, k: int) -> Expression:
    ones = f"torch.ones_like({x}, dtype={site.torch_dtype()})"
    return f"{ones}.triu({k}).tril({k})"


def _seeded(site: Site, seed: float | None) -> str:
    if seed is None:
        return ""
    return f", generator=torch.Generator({site.device}).manual_seed({int(seed)})"


@rule("RandomNormal")
def random_normal(site: Site, *, shape: Any, dtype: int, mean: float, scale: float, seed: float | None) -> Expression:
    drawn = f"torch.randn({tuple(shape)}, dtype={site.torch_dtype()}, device={site.device}{_seeded(site, seed)})"
    return f"{drawn} * {number(scale)} + {number(mean)}"


@rule("RandomUniform")
def random_uniform(site: Site, *, shape: Any, dtype: int, low: float, high: float, seed: float | None) -> Expression:
    drawn = f"torch.rand({tuple(shape)}, dtype={site.torch_dtype()}, device={site.device}{_seeded(site, seed)})"
    return f"{drawn} * {number(high - low)} + {number(low)}"


@rule("RandomNormalLike")
def random_normal_like(
    site: Site, x: Operand, *, dtype: int | None, mean: float, scale: float, seed: float | None
) -> Expression:
    drawn = f"torch.randn({x}.shape, dtype={site.torch_dtype()}, device={x}.device{_seeded(site, seed)})"
    return f"{drawn} * {number(scale)} + {number(mean)}"


@rule("RandomUniformLike")
def random_uniform_like(
    site: Site, x: Operand, *, dtype: int | None, low: float, high: float, seed: float | None
) -> Expression:
    drawn = f"torch.rand({x}.shape, dtype={site.torch_dtype()}, device={x}.device{_seeded(site, seed)})"
    return f"{drawn} * {number(high - low)} + {number(low)}"


@rule("Bernoulli")
def bernoulli(site: Site, x: Operand, *, dtype: int | None, seed: float | None) -> Expression:
    return f"torch.bernoulli({x}{_seeded(site, seed)}).to({site.torch_dtype()})"


@rule("Multinomial")
def multinomial(site: Site, x: Operand, *, dtype: int, sample_size: int, seed: float | None) -> Expression:
    drawn = f"torch.multinomial(torch.softmax({x}, dim=-1), {sample_size}, replacement=True{_seeded(site, seed)})"
    return f"{drawn}.to({site.torch_dtype()})"


@rule("Dropout")
def dropout(
    site: Site, x: Operand, ratio: Operand | None = None, training_mode: Operand | None = None, *, seed: float | None
) -> Expression:
    if training_mode is None or training_mode.numbers == [0]:
        return [x, f"torch.ones_like({x}, dtype=torch.bool)"]
    share = "0.5" if ratio is None else scalar(ratio)
    training = "True" if training_mode.numbers == [1] else f"bool({training_mode})"
    text = f"{site.use('dropout')}({x}, {share}, {training}{_seeded(site, seed)})"
    return text if len(site.node.outputs) == 2 else f"{text}[0]"
