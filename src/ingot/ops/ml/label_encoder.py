"""LabelEncoder: each element replaced by what a list of pairs has for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml.lookup import translated, translator
from ingot.ops.older import dtype_of
from ingot.ops.typesets import FLOAT32, FLOAT64, INDICES, INT64, STRING, tensors, types

_TYPES = {2: FLOAT32 | INT64 | STRING, 4: INDICES | FLOAT32 | FLOAT64 | STRING | tensors(DType.INT16)}
T1: TypeAlias = Annotated[Array, types("T1", _TYPES)]
T2: TypeAlias = Annotated[Array, types("T2", _TYPES)]
T1V1: TypeAlias = Annotated[Array, types("T1", INT64 | STRING)]
T2V1: TypeAlias = Annotated[Array, types("T2", INT64 | STRING)]

_WIDEST = 1 << 16
"""How far keys may be apart to be places in a table."""


@operator("LabelEncoder", since=(2, 4), domain="ai.onnx.ml")
def label_encoder(
    x: T1,
    /,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Annotated[Tensor | None, Since(4)] = None,
    keys_floats: Sequence[float] | None = None,
    keys_int64s: Sequence[int] | None = None,
    keys_strings: Sequence[str] | None = None,
    keys_tensor: Annotated[Tensor | None, Since(4)] = None,
    values_floats: Sequence[float] | None = None,
    values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None,
    values_tensor: Annotated[Tensor | None, Since(4)] = None,
) -> T2:
    """The value at the place of the element among the keys, the default where it is none of them.

    The last of equal keys counts, and NaN equals NaN. One list of keys and one of values is given, equally long.
    """
    keys = _the_one_list("keys", keys_floats, keys_int64s, keys_strings, keys_tensor)
    values = _the_one_list("values", values_floats, values_int64s, values_strings, values_tensor)
    _check(x.dtype, keys, values)
    default = _default(values.dtype, default_float, default_int64, default_string, default_tensor)
    return translated(x, keys, np.concatenate([values, default]))


@label_encoder.bind
def bind(**attributes: Any) -> Callable[[Array], Array]:
    keys, values = _pairs(attributes)
    default = _default_of(values.dtype, attributes)
    translate = translator(keys, np.concatenate([values, default]), keys.dtype)

    def encode(x: Array) -> Array:
        if x.dtype != keys.dtype:
            _check(x.dtype, keys, values)
        return translate(x)

    _check(None, keys, values)
    return encode


@label_encoder.infer
def infer(x: Fact, /, **attributes: Any) -> Inferred:
    keys, values = _pairs(attributes)
    _check(None if x.dtype is None else x.dtype.numpy, keys, values)
    return TensorType(DType.of(values.dtype), x.shape)


@label_encoder.lower
def lower(x: prim.Tensor, /, **attributes: Any) -> prim.Tensor:
    """Integers that lie close together are places in a table, which ends with the default."""
    keys, values = _pairs(attributes)
    if values.dtype == np.object_:
        raise prim.Refused("values that are strings")
    if keys.dtype.kind not in "iu" or not keys.size:
        raise prim.Refused("keys that are no integers")
    _check(x.dtype.numpy, keys, values)
    low, high = int(keys.min()), int(keys.max())
    if high - low >= _WIDEST:
        raise prim.Refused(f"keys from {low} to {high}, a range of more than {_WIDEST}")
    default = _default_of(values.dtype, attributes)
    table = np.repeat(default, high - low + 2)
    table[keys.astype(np.int64) - low] = values
    x = prim.cast(x, DType.INT64)
    inside = prim.apply("and", prim.apply("less_equal", low, x), prim.apply("less_equal", x, high))
    place = prim.where(inside, x - low, high - low + 1)
    return prim.gather(prim.constant(table), [place], x.shape, in_range=True)


def _pairs(attributes: dict[str, Any]) -> tuple[Array, Array]:
    kinds = ("floats", "int64s", "strings", "tensor")
    keys, values = (
        _the_one_list(what, *(attributes[f"{what}_{kind}"] for kind in kinds)) for what in ("keys", "values")
    )
    return keys, values


def _the_one_list(
    name: str,
    floats: Sequence[float] | None,
    int64s: Sequence[int] | None,
    strings: Sequence[str] | None,
    tensor: Tensor | None,
) -> Array:
    lists: list[Array] = []
    if floats:
        lists.append(np.array(floats, np.float32))
    if int64s:
        lists.append(np.array(int64s, np.int64))
    if strings:
        lists.append(np.array([*strings, None], object)[:-1])
    if tensor is not None:
        lists.append(tensor.numpy().reshape(-1))
    if len(lists) != 1:
        raise CheckError(f"{len(lists)} of the lists of {name} are set, expected one")
    return lists[0]


def _check(dtype: np.dtype[Any] | None, keys: Array, values: Array) -> None:
    if len(keys) != len(values):
        raise CheckError(f"there are {len(keys)} keys and {len(values)} values")
    if dtype is not None and dtype != keys.dtype:
        raise CheckError(f"the input is {DType.of(dtype)}, its keys are {DType.of(keys.dtype)}")


def _default_of(dtype: np.dtype[Any], attributes: dict[str, Any]) -> Array:
    return _default(dtype, *(attributes[f"default_{kind}"] for kind in ("float", "int64", "string", "tensor")))


def _default(dtype: np.dtype[Any], floating: float, integer: int, string: str, tensor: Tensor | None) -> Array:
    if tensor is not None:
        default = tensor.numpy().reshape(-1)
        if default.dtype != dtype or default.size != 1:
            raise CheckError(f"default_tensor is {tensor.type}, expected one element of {DType.of(dtype)}")
        return default
    if dtype == np.object_:
        return np.array([string, None], object)[:1]
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= integer <= np.iinfo(dtype).max:
        raise InputError(f"default_int64 is {integer}, which does not fit {dtype}")
    return np.array([floating if dtype.kind == "f" else integer], dtype)


_SUFFIXES = {DType.FLOAT32: "float", DType.INT64: "int64", DType.STRING: "string"}
"""What versions 2 and 3 call the types they have."""


@label_encoder.downgrade
def downgrade(op: Any, x: Value, /, *, version: int, **attributes: Any) -> Any:
    """Types that are missing are cast; of values that cannot be, the position is found and the value looked up."""
    keys, values = _pairs(attributes)
    default = _default_of(values.dtype, attributes)
    if version < label_encoder.since[0]:
        return _mapped(op, x, keys, values, default)
    key, value = dtype_of(x), DType.of(values.dtype)
    if key is DType.FLOAT64:
        raise UnsupportedError("keys of float64 came with version 4")
    source, kind = (x, _SUFFIXES[key]) if key in _SUFFIXES else (op.Cast(x, to=int(DType.INT64)), "int64")
    named: dict[str, Any] = {f"keys_{kind}s": keys.tolist()}
    encoder = op.domain("ai.onnx.ml").LabelEncoder
    if value is DType.FLOAT64:
        index = encoder(source, values_int64s=list(range(len(keys))), default_int64=len(keys), **named)
        return op.Gather(np.concatenate([values, default]), index)
    to = _SUFFIXES.get(value, "int64")
    named |= {f"values_{to}s": values.tolist(), f"default_{to}": default.tolist()[0]}
    encoded = encoder(source, **named)
    return encoded if value in _SUFFIXES else op.Cast(encoded, to=int(value))


def _mapped(op: Any, x: Value, keys: Array, values: Array, default: Array) -> Any:
    """The oldest has strings for their positions, and back; CategoryMapper any strings for any integers, and back."""
    if keys.dtype not in (np.object_, np.int64):
        raise UnsupportedError(f"keys of {DType.of(keys.dtype)} came with version 2")
    last = {key: place for place, key in enumerate(keys.tolist())}
    keys, values = keys[list(last.values())], values[list(last.values())]
    places, kinds = list(range(len(keys))), (DType.of(keys.dtype), DType.of(values.dtype))
    encoder, mapper = (op.domain("ai.onnx.ml")[name] for name in ("LabelEncoder", "CategoryMapper"))
    if kinds == (DType.STRING, DType.INT64):
        if values.tolist() == places:
            return encoder(x, classes_strings=keys.tolist(), default_int64=int(default[0]))
        return mapper(x, cats_strings=keys.tolist(), cats_int64s=values.tolist(), default_int64=int(default[0]))
    if kinds == (DType.INT64, DType.STRING):
        if keys.tolist() == places:
            return encoder(x, classes_strings=values.tolist(), default_string=default[0])
        return mapper(x, cats_int64s=keys.tolist(), cats_strings=values.tolist(), default_string=default[0])
    names, source = keys.tolist(), x
    if keys.dtype == np.int64:
        names = [str(place) for place in places]
        source = mapper(x, cats_int64s=keys.tolist(), cats_strings=names, default_string="")
    index = mapper(source, cats_strings=names, cats_int64s=places, default_int64=len(keys))
    return op.Gather(np.concatenate([values, default]), index)


@operator("LabelEncoder", since=1, domain="ai.onnx.ml")
def label_encoder_1(
    x: T1V1,
    /,
    *,
    classes_strings: Sequence[str] | None = None,
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> T2V1:
    """Strings to their positions in a list, or positions to the strings."""
    raise superseded()


@label_encoder_1.upgrade
def upgrade(
    op: Any, x: Value, /, *, classes_strings: Sequence[str] | None, default_int64: int, default_string: str
) -> Any:
    if not isinstance(x.type, TensorType) or x.type.dtype not in (DType.STRING, DType.INT64):
        raise UnsupportedError("the element type of the input is unknown", hint="infer the types of the model first")
    if not classes_strings:
        raise CheckError("classes_strings is empty")
    classes, places = list(classes_strings), list(range(len(classes_strings)))
    encoder = op.domain("ai.onnx.ml").LabelEncoder
    if x.type.dtype is DType.STRING:
        return encoder(x, keys_strings=classes, values_int64s=places, default_int64=default_int64)
    return encoder(x, keys_int64s=places, values_strings=classes, default_string=default_string)
