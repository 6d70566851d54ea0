"""Plan files: everything that a run needs, so that a warm start neither loads the model nor compiles.

A file has a header with the lengths and the digest of its parts; the records of `plan_schema` as JSON; the code of all
kernels, which is mapped and run where it lies; and the arrays of all constants, packed as kernels read them, which are
mapped too. To read all of these would take longer than a warm start, so their digest is checked only if the file was
modified after it was written: its time of modification is not the one in the header.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import time
from io import BufferedReader
from pathlib import Path

import numpy as np

from ingot.cache import directory
from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import mapped, placed
from ingot.dataclass import dataclass
from ingot.errors import IngotError
from ingot.ir.types import TensorType
from ingot.prim.tensor import Tensor
from ingot.runtime.plan import MOST_TRIPS, Plan
from ingot.runtime.plan_decode import PlanDecoder
from ingot.runtime.plan_encode import ALIGN, PlanEncoder, Unstorable
from ingot.runtime.plan_schema import StoredFile, StoredPlan
from ingot.runtime.provider import DeviceMemory

__all__ = ["PlanFile", "Unstorable", "read", "source_of", "write"]

_MAGIC = b"ingot plan 9\0\0\0\0"
_HEAD = struct.Struct("<16s32s4Q32sQ")
"""Magic; digest of text and code; length of the text, start and end of the code, length of the file.

Then the digest of the arrays, and when the file was written, in nanoseconds.
"""
_PAGE = 1 << 14


@dataclass(frozen=True, slots=True)
class PlanFile:
    """The contents of a plan file: plan and outputs, types of inputs and outputs by name, inputs with defaults.

    `calls` are models with the nodes that the reference runs, encoded: that of the plan, then those of its bodies in
    order; each is empty if there are none.
    """

    plan: Plan
    outputs: tuple[Tensor, ...]
    inputs: tuple[tuple[str, TensorType], ...]
    results: tuple[tuple[str, TensorType], ...]
    defaults: tuple[str, ...]
    calls: tuple[bytes, ...]
    thread_pool: LinkedCode
    beside: tuple[tuple[str, str], ...] = ()
    """The files next to the model that hold weights, and the digests of their contents."""
    source: str = ""
    """The path of the model when the plan was written; empty if it came from no file."""


def write(path: Path, file: PlanFile) -> bool:
    """Write a plan file; False where that is not possible. Unstorable if the plan is not plain data."""
    encoder = PlanEncoder()
    text = json.dumps(_encoded(file, encoder), separators=(",", ":")).encode()
    code = bytes(encoder.code)
    start = _rounded(_HEAD.size + len(text))
    memory = _rounded(start + len(code))
    total = memory + encoder.size + ALIGN
    digest = hashlib.sha256(text + code).digest()
    if total > directory.most_bytes() // 2:
        return False
    arrays = hashlib.sha256()
    for part in (*encoder.array_bytes(), bytes(ALIGN)):
        arrays.update(part)
    now = time.time_ns()
    head = _HEAD.pack(_MAGIC, digest, len(text), start, start + len(code), total, arrays.digest(), now)
    parts: list[bytes | memoryview] = [head, text, bytes(start - _HEAD.size - len(text)), code]
    parts += [bytes(memory - start - len(code)), *encoder.array_bytes(), bytes(ALIGN)]
    return directory.written(path, *parts, modified=now)


def read(path: Path, threads: int, most_trips: int = MOST_TRIPS, device: DeviceMemory | None = None) -> PlanFile | None:
    """The plan in a file, for `threads` threads and at most `most_trips` loop trips; None if absent or damaged.

    `device` is the memory that it is for, if that is not the host's.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            magic, digest, length, start, end, total, arrays, modified = _HEAD.unpack(head)
            status = os.fstat(file.fileno())
            if magic != _MAGIC or status.st_size != total:
                return None
            if not _HEAD.size + length <= start <= end <= total:
                return None
            text = file.read(length)
            file.seek(start)
            code = file.read(end - start)
            if hashlib.sha256(text + code).digest() != digest:
                return None
            if status.st_mtime_ns != modified and not _is_whole(file, _rounded(end), arrays):
                return None
            directory.used(path)
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            try:
                address, owner = mapped(file.fileno(), start, end - start)
            except OSError:  # where files may not be run
                loaded = placed(LinkedCode(code, {"": 0}))
                address, owner = loaded.entries[""], loaded.owner
    except (OSError, IngotError):
        return None
    stored = StoredFile(*json.loads(text))
    memory = np.frombuffer(whole, np.uint8)[_rounded(end) :]
    own = None if device is None else (device, code)
    decoder = PlanDecoder(stored, memory, address, owner, threads, most_trips, own)
    decoded = _decoded(stored, decoder, address)
    decoder.finish()
    return decoded


def _is_whole(file: BufferedReader, start: int, digest: bytes) -> bool:
    """Whether the arrays of a file, from `start` on, are as they were written."""
    file.seek(start)
    return hashlib.file_digest(file, "sha256").digest() == digest


def source_of(path: Path) -> str | None:
    """The path of the model of a plan file, "" if the model came from no file; None if this is no plan file."""
    try:
        with open(path, "rb") as file:
            magic, _, length, *_ = _HEAD.unpack(file.read(_HEAD.size))
            if magic != _MAGIC or length > os.fstat(file.fileno()).st_size:
                return None
            return str(StoredFile(*json.loads(file.read(length))).source)
    except (OSError, struct.error, ValueError, TypeError):
        return None


def _encoded(file: PlanFile, encoder: PlanEncoder) -> StoredFile:
    pool = encoder.place_code(file.thread_pool)
    return StoredFile(
        source=file.source,
        thread_pool={name: pool + offset for name, offset in file.thread_pool.entries.items()},
        plan=encoder.plan(file.plan),
        outputs=[encoder.tensor(tensor) for tensor in file.outputs],
        inputs=[encoder.type(name, type_) for name, type_ in file.inputs],
        results=[encoder.type(name, type_) for name, type_ in file.results],
        defaults=list(file.defaults),
        nodes=[encoder.array(np.frombuffer(nodes, np.uint8)) for nodes in file.calls],
        beside=list(file.beside),
        tensors=encoder.tensors,
        calls=encoder.calls,
        arrays=encoder.arrays,
        dims=encoder.dims,
        dim_calls=encoder.packing.calls,
        codes=encoder.device_codes,
    )


def _decoded(stored: StoredFile, decoder: PlanDecoder, code: int) -> PlanFile:
    calls = tuple(bytes(decoder.arrays[number]) for number in stored.nodes)
    if any(calls):
        from ingot.format import decode  # only for what is not compiled

        decoder.nodes = [
            {value.name: node for node in decode(nodes).graph for value in node.outputs} if nodes else {}
            for nodes in calls
        ]
    return PlanFile(
        decoder.plan(StoredPlan(*stored.plan)),
        tuple(map(decoder.tensor, stored.outputs)),
        decoder.types(stored.inputs),
        decoder.types(stored.results),
        tuple(stored.defaults),
        calls,
        LinkedCode(b"", {name: code + offset for name, offset in stored.thread_pool.items()}),
        tuple((location, content) for location, content in stored.beside),
        stored.source,
    )


def _rounded(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
