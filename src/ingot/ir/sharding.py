"""What a model says about quantisation parameters and about devices: annotations that refer to values."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ingot.dataclass import dataclass
from ingot.dims import Dim

if TYPE_CHECKING:
    from ingot.ir.value import Value


@dataclass(slots=True, eq=False)
class TensorAnnotation:
    """Names the values that hold a value's quantisation parameters, by role (`SCALE_TENSOR`, `ZERO_POINT_TENSOR`)."""

    value: Value
    parameters: dict[str, Value]
    residue: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceConfiguration:
    """A named set of devices a model may be spread over."""

    name: str
    num_devices: int
    devices: tuple[str, ...] = ()
    source: bytes | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SimpleSharding:
    """One stretch of an axis, of size `dim` where known, cut into `num_shards` pieces."""

    num_shards: int
    dim: Dim | None = None


@dataclass(frozen=True, slots=True)
class ShardedDim:
    """How one axis is cut."""

    axis: int
    shardings: tuple[SimpleSharding, ...] = ()


@dataclass(frozen=True, slots=True)
class Sharding:
    """How one input or output of a node is spread over devices; `groups` expands negative device indices."""

    value: Value
    devices: tuple[int, ...] = ()
    groups: tuple[tuple[int, tuple[int, ...]], ...] = ()
    dims: tuple[ShardedDim, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeConfiguration:
    """How one node runs under one device configuration of the model."""

    configuration: str
    shardings: tuple[Sharding, ...] = ()
    pipeline_stage: int | None = None
    residue: object = field(default=None, init=False, compare=False, repr=False)
