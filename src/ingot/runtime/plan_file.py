"""Plans in files: everything a run needs, so that a model that was opened before is opened without being looked at.

A file has a head, which says how long its parts are and what their digest is; the plan as JSON; the code of all
kernels, which is mapped and run where it lies; and the memory of all constants, in the form that kernels read, which is
mapped too. Of the latter nothing is checked but its length: a file gets its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ingot.cache import directory
from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import mapped, placed
from ingot.dims import Dim, Expr, Packing
from ingot.dtypes import Array, DType
from ingot.errors import IngotError
from ingot.ir.types import TensorType
from ingot.prim.tensor import Call, CallResult, Parameter, Tensor
from ingot.runtime.plan import MOST_RUNS, Allocation, Arm, Body, Jump, KernelStep, Plan, Segment

_MAGIC = b"ingot plan 6\0\0\0\0"
_HEAD = struct.Struct("<16s32s4Q")
"""What it is; the digest of the text and the code; how long the text is, where the code begins and ends, the whole."""
_PAGE = 1 << 14
_ALIGN = 64
_PLAIN = {each.__name__: each for each in (Arm, Jump)}
"""What plans are made of, beside tensors, calls, and what there are many of: segments, kernels and rooms."""


class Unstorable(Exception):
    """A plan has something in it that is no plain data; the message is what."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What a file holds: a plan and its results, the types of inputs and outputs by name, and which have defaults.

    `calls` are models with the nodes that the reference runs, encoded, of the plan and then of those inside of it in
    order; each is empty if there are none.
    """

    plan: Plan
    outputs: tuple[Tensor, ...]
    inputs: tuple[tuple[str, TensorType], ...]
    results: tuple[tuple[str, TensorType], ...]
    defaults: tuple[str, ...]
    calls: tuple[bytes, ...]
    team: LinkedCode
    beside: tuple[tuple[str, str], ...] = ()
    """The files that the model has weights in, beside its own, and the name of their content."""
    source: str = ""
    """The file that the model was in when it was kept; empty if it was in none."""


def write(path: Path, kept: PlanFile) -> bool:
    """Keep a plan in a file; False where that is not possible. Unstorable if it has something that is no plain data."""
    writing = _Writing()
    text = json.dumps(writing.said(kept), separators=(",", ":")).encode()
    code = bytes(writing.code)
    start = _rounded(_HEAD.size + len(text), _PAGE)
    arrays = list(writing.laid_out())
    memory = _rounded(start + len(code), _PAGE)
    total = memory + writing.size + _ALIGN
    digest = hashlib.sha256(text + code).digest()
    head = _HEAD.pack(_MAGIC, digest, len(text), start, start + len(code), total)
    if total > directory.most_bytes() // 2:
        return False
    parts: list[bytes | memoryview] = [head, text, bytes(start - _HEAD.size - len(text)), code]
    parts += [bytes(memory - start - len(code)), *arrays, bytes(_ALIGN)]
    return directory.written(path, *parts)


def read(path: Path, threads: int, runs: int = MOST_RUNS) -> PlanFile | None:
    """The plan in a file, for a number of threads, which run bodies of loops at most so often.

    None if there is none, or the file is damaged.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            magic, digest, length, start, end, total = _HEAD.unpack(head)
            if magic != _MAGIC or os.fstat(file.fileno()).st_size != total:
                return None
            text = file.read(length)
            file.seek(start)
            code = file.read(end - start)
            if hashlib.sha256(text + code).digest() != digest:
                return None
            directory.used(path)
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            try:
                base, owner = mapped(file.fileno(), start, end - start)
            except OSError:  # where files may not be run
                loaded = placed(LinkedCode(code, {"": 0}))
                base, owner = loaded.entries[""], loaded.owner
    except (OSError, IngotError):
        return None
    reading = _Reading(json.loads(text), np.frombuffer(whole, np.uint8), _rounded(end, _PAGE), base)
    return reading.kept(threads, runs, owner)


def source_of(path: Path) -> str | None:
    """The file that the model was in of which a file keeps the plan, or nothing; None if it is no such file."""
    try:
        with open(path, "rb") as file:
            magic, _, length, *_ = _HEAD.unpack(file.read(_HEAD.size))
            return str(json.loads(file.read(length))["source"]) if magic == _MAGIC else None
    except (OSError, struct.error, ValueError, KeyError):
        return None


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit


class _Writing:
    """A plan on its way into a file: tensors, calls, code and arrays become numbers."""

    def __init__(self) -> None:
        self.code = bytearray()
        self.size = 0
        self._codes: dict[int, int] = {}
        self._arrays: dict[int, tuple[int, Array]] = {}
        self._kinds: list[list[Any]] = []
        self._tensors: dict[Tensor, int] = {}
        self._said_tensors: list[Any] = []
        self._calls: dict[Call, int] = {}
        self._said_calls: list[Any] = []
        self._plans = self._number = 0
        self._packing = Packing()
        self._dims: dict[Expr, int] = {}
        self._said_dims: list[Any] = []

    def said(self, kept: PlanFile) -> dict[str, Any]:
        said = {
            "source": kept.source,
            "team": {name: self._code(kept.team) + offset for name, offset in kept.team.entries.items()},
            "plan": self._plan(kept.plan),
            "outputs": self._plain(kept.outputs),
            "given": [[name, int(type_.dtype), self._plain(type_.shape)] for name, type_ in kept.inputs],
            "returned": [[name, int(type_.dtype), self._plain(type_.shape)] for name, type_ in kept.results],
            "defaults": list(kept.defaults),
            "nodes": [self._array(np.frombuffer(each, np.uint8)) for each in kept.calls],
            "beside": list(kept.beside),
        }
        sizes = {"dims": self._said_dims, "parts": self._packing.calls}
        return {**said, **sizes, "tensors": self._said_tensors, "calls": self._said_calls, "arrays": self._kinds}

    def _plan(self, plan: Plan) -> dict[str, Any]:
        self._plans += 1
        own = self._number = self._plans - 1
        said: dict[str, Any] = {
            "segments": [self._segment(segment, plan.codes) for segment in plan.segments],
            "inputs": [[name, self._plain(tensor)] for name, tensor in plan.inputs.items()],
            "placed": [[self._plain(tensor), slot] for tensor, slot in plan.placed.items()],
            "results": self._plain(plan.results),
            "slots": len(plan.template),
            "memory": [[slot, self._array(array)] for slot, array in plan.memory],
            "constants": [[self._plain(tensor), self._array(array)] for tensor, array in plan.constants.items()],
            "made": [[self._plain(call), self._plain(tuple(each))] for call, each in plan.made.items()],
        }
        bodies = []
        for call, each in plan.bodies.items():
            self._number = own
            bodies.append([self._plain(call), [None if body is None else self._body(body) for body in each]])
        self._number = own
        return {**said, "bodies": bodies}

    def _body(self, body: Body) -> dict[str, Any]:
        return {
            "plan": None if body.plan is None else self._plan(body.plan),
            "taken": list(body.taken),
            "captured": list(body.captured),
            "outputs": self._plain(body.outputs),
            "nodes": body.nodes,
            "strict": body.strict,
            "first": None if body.first is None else self._body(body.first),
        }

    def laid_out(self) -> Iterator[bytes | memoryview]:
        """The bytes of all arrays, in order."""
        end = 0
        for start, array in self._arrays.values():
            yield bytes(start - end)
            flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            yield memoryview(flat)
            end = start + array.nbytes
        yield bytes(self.size - end)

    def _segment(self, segment: Segment, codes: Mapping[int, LinkedCode]) -> list[Any]:
        """A segment whose kernels are where their code is in the file."""
        kernels = [
            self._plain(each) if isinstance(each, Jump) else self._native(each, codes) for each in segment.kernels
        ]
        rooms = [
            [each.slot, int(each.dtype), self._sizes(each.shape), each.first, each.last, self._plain(each.fresh)]
            for each in segment.rooms
        ]
        rest = (segment.names, segment.claims, segment.call, segment.sides, segment.base)
        return [kernels, rooms, self._plain(rest)]

    def _native(self, kernel: KernelStep, codes: Mapping[int, LinkedCode]) -> list[Any]:
        if kernel.address not in codes:
            raise Unstorable("code that only this process has")
        code = codes[kernel.address]
        place = self._code(code) + code.entries["kernel"]
        return [kernel.name, place, kernel.which, self._sizes(kernel.sizes), kernel.writes]

    def _sizes(self, sizes: Sequence[Dim]) -> list[Any]:
        """Sizes as they are, or in a list of its own the number of one that depends on others."""
        return [each if isinstance(each, int) else [self._dim(each)] for each in sizes]

    def _dim(self, dim: Expr) -> int:
        if dim not in self._dims:
            self._dims[dim] = len(self._said_dims)
            self._said_dims.append(self._packing.packed(dim))
        return self._dims[dim]

    def _code(self, code: LinkedCode) -> int:
        if id(code) not in self._codes:
            self.code += bytes(-len(self.code) % _ALIGN)
            self._codes[id(code)] = len(self.code)
            self.code += code.code
        return self._codes[id(code)]

    def _array(self, array: Array) -> int:
        """The number of an array, which begins at a multiple of a cache line."""
        if id(array) not in self._arrays:
            if array.dtype.hasobject:
                raise Unstorable("a constant of strings")
            self._arrays[id(array)] = (self.size, array)
            self._kinds.append([int(DType.of(array.dtype)), list(array.shape), self.size])
            self.size = _rounded(self.size + array.nbytes, _ALIGN)
        return list(self._arrays).index(id(array))

    def _plain(self, item: Any) -> Any:
        match item:
            case DType():
                return {"t": int(item)}
            case None | bool() | int() | float() | str():
                return item
            case Expr():
                return {"d": self._dim(item)}
            case tuple():
                return [self._plain(each) for each in item]
            case Tensor():
                return {"r": self._tensor(item)}
            case Call():
                return {"c": self._call(item)}
            case _ if type(item).__name__ in _PLAIN:
                return {"k": type(item).__name__, "f": [self._plain(getattr(item, each.name)) for each in fields(item)]}
        raise Unstorable(f"a {type(item).__name__}")

    def _tensor(self, tensor: Tensor) -> int:
        if tensor not in self._tensors:
            said: list[Any] = [int(tensor.dtype), self._plain(tensor.shape)]
            if isinstance(tensor, CallResult):
                said += ["result", self._call(tensor.call), tensor.index, tensor.opaque]
            elif isinstance(tensor, Parameter):
                said += ["parameter", tensor.name]
            self._tensors[tensor] = len(self._said_tensors)
            self._said_tensors.append(said)
        return self._tensors[tensor]

    def _call(self, call: Call) -> int:
        if call not in self._calls:
            arguments = [None if each is None else self._tensor(each) for each in call.arguments]
            self._calls[call] = len(self._said_calls)
            name = next((value.name for value in call.node.outputs if value.name), "")
            self._said_calls.append([self._number, name, arguments, call.reason])
        return self._calls[call]


class _Reading:
    """A plan on its way out of a file."""

    def __init__(self, said: dict[str, Any], whole: Array, memory: int, base: int) -> None:
        self._said = said
        self._base = base
        self._arrays = [
            whole[memory + start : memory + start + _bytes(DType(dtype), shape)].view(DType(dtype).numpy).reshape(shape)
            for dtype, shape, start in said["arrays"]
        ]
        self._tensors: dict[int, Tensor] = {}
        self._calls: dict[int, Call] = {}
        self._nodes: list[dict[str, Any]] = []
        packing = Packing(said["parts"])
        self._dims = [packing.unpacked(each) for each in said["dims"]]

    def kept(self, threads: int, runs: int, owner: Any) -> PlanFile:
        said = self._said
        nodes = tuple(bytes(self._arrays[number]) for number in said["nodes"])
        if any(nodes):
            from ingot.format import decode  # only for what is not compiled

            self._nodes = [
                {value.name: node for node in decode(each).graph for value in node.outputs} if each else {}
                for each in nodes
            ]
        return PlanFile(
            self._plan(said["plan"], threads, runs, owner),
            self._plain(said["outputs"]),
            tuple((name, TensorType(DType(dtype), self._plain(shape))) for name, dtype, shape in said["given"]),
            tuple((name, TensorType(DType(dtype), self._plain(shape))) for name, dtype, shape in said["returned"]),
            tuple(said["defaults"]),
            nodes,
            LinkedCode(b"", {name: self._base + offset for name, offset in said["team"].items()}),
            tuple((name, content) for name, content in said["beside"]),
        )

    def _plan(self, said: dict[str, Any], threads: int, runs: int, owner: Any) -> Plan:
        segments = tuple(map(self._segment, said["segments"]))
        memory = tuple((slot, self._arrays[number]) for slot, number in said["memory"])
        template = np.zeros(said["slots"], np.int64)
        for slot, array in memory:
            template[slot] = array.ctypes.data
        return Plan(
            segments,
            {name: self._plain(tensor) for name, tensor in said["inputs"]},
            {self._plain(tensor): slot for tensor, slot in said["placed"]},
            self._plain(said["results"]),
            template,
            {self._plain(tensor): self._arrays[number] for tensor, number in said["constants"]},
            {self._plain(call): self._plain(each) for call, each in said["made"]},
            (owner,),
            threads,
            memory,
            runs=runs,
            bodies={
                self._plain(call): tuple(
                    None if body is None else self._body(body, threads, runs, owner) for body in each
                )
                for call, each in said["bodies"]
            },
        )

    def _body(self, said: dict[str, Any], threads: int, runs: int, owner: Any) -> Body:
        return Body(
            None if said["plan"] is None else self._plan(said["plan"], threads, runs, owner),
            tuple(said["taken"]),
            tuple(said["captured"]),
            self._plain(said["outputs"]),
            said["nodes"],
            said["strict"],
            None if said["first"] is None else self._body(said["first"], threads, runs, owner),
        )

    def _segment(self, said: list[Any]) -> Segment:
        """A segment whose kernels are where they are in memory."""
        kernels = tuple([self._native(*each) if isinstance(each, list) else self._plain(each) for each in said[0]])
        rooms = tuple(
            [
                Allocation(slot, DType(dtype), self._sizes(shape), first, last, self._plain(fresh))
                for slot, dtype, shape, first, last, fresh in said[1]
            ]
        )
        return Segment(kernels, rooms, *self._plain(said[2]))

    def _native(self, name: str, place: int, which: list[int], sizes: list[Any], writes: list[int]) -> KernelStep:
        return KernelStep(name, self._base + place, tuple(which), self._sizes(sizes), tuple(writes))

    def _sizes(self, said: list[Any]) -> tuple[Dim, ...]:
        dims = self._dims
        return tuple([each if isinstance(each, int) else dims[each[0]] for each in said])

    def _plain(self, item: Any) -> Any:
        if isinstance(item, list):
            return tuple(map(self._plain, item))
        if not isinstance(item, dict):
            return item
        match item:
            case {"t": number}:
                return DType(number)
            case {"d": number}:
                return self._dims[number]
            case {"r": number}:
                return self._tensor(number)
            case {"c": number}:
                return self._call(number)
        return _PLAIN[item["k"]](*map(self._plain, item["f"]))

    def _tensor(self, number: int) -> Tensor:
        if number not in self._tensors:
            dtype, shape, *more = self._said["tensors"][number]
            kind: tuple[Any, Any] = (DType(dtype), self._plain(shape))
            match more:
                case ["result", call, index, opaque]:
                    self._tensors[number] = CallResult(*kind, self._call(call), index, opaque)
                case ["parameter", name]:
                    self._tensors[number] = Parameter(*kind, name)
                case _:
                    self._tensors[number] = Tensor(*kind)
        return self._tensors[number]

    def _call(self, number: int) -> Call:
        if number not in self._calls:
            plan, name, arguments, reason = self._said["calls"][number]
            tensors = tuple(None if each is None else self._tensor(each) for each in arguments)
            self._calls[number] = Call(self._nodes[plan][name], tensors, reason)
        return self._calls[number]


def _bytes(dtype: DType, shape: Sequence[int]) -> int:
    total = dtype.numpy.itemsize
    for size in shape:
        total *= size
    return total
