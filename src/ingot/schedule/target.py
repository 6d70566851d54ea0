"""The machine that code is compiled for: its instructions, its vectors, its caches. Facts alone, no decisions."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from ingot.dataclass import dataclass
from ingot.errors import InputError, nearest

_HALVES = ("znver4",)
"""Processors that run instructions on 512 bits in two steps of 256."""

_FAR = ("sapphirerapids", "emeraldrapids", "graniterapids", "diamondrapids")
"""Processors of many cores, of which one reads memory at 14 GB/s: half of what others read, as far away."""

_MASKED_VECTOR = 64
"""The bytes of vectors that come with registers for masks: those of AVX-512."""

WHOLE_VECTORS = ",-prefer-256-bit"
"""Or LLVM halves 512-bit vectors on some processors."""


class Dot(Enum):
    """Instructions that multiply narrow elements and add them to wider sums; values are LLVM's names of features."""

    AVX_VNNI = "avxvnni"
    """Four products of bytes into each int32 of 256 bits."""
    AVX512_VNNI = "avx512vnni"
    """The same, of 512 bits."""
    AVX512_BF16 = "avx512bf16"
    """Two products of bfloat16 into each float32."""
    AMX_INT8 = "amx-int8"
    """Tiles of 16 rows of 64 bytes, into 16 by 16 sums of int32."""
    AMX_BF16 = "amx-bf16"
    """Tiles of 16 rows of 32 bfloat16, into 16 by 16 sums of float32."""
    NEON_DOT = "dotprod"
    """Four products of bytes into each int32 of 128 bits."""
    NEON_I8MM = "i8mm"
    """Two by eight times eight by two bytes into four int32."""
    NEON_BF16 = "bf16"
    """Two by four times four by two bfloat16 into four float32."""


MATRICES = (Dot.AMX_INT8, Dot.AMX_BF16)
"""Instructions on registers of matrices, which Linux lets a process use that has asked for it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine. `registers` are vector registers of `vector` bytes; cache sizes are in bytes, 0 where there is none.

    `l1` and `l2` are a core's own, `l3` is shared. `features` are as LLVM takes them.
    """

    triple: str
    cpu: str
    features: str
    vector: int
    registers: int
    l1: int = 32 << 10
    l2: int = 1 << 20
    l3: int = 0
    pointer: int = 64
    """The bits of an address. Tables of addresses have 64 bits for each on every machine."""
    dots: tuple[Dot, ...] = ()
    fma: bool = True
    """Whether one instruction multiplies and adds, rounding once."""
    half: bool = True
    """Whether instructions convert float16 from and to float32."""
    scalable: bool = False
    """Whether there are vectors whose length is known only at run time, of `vector` bytes at least."""
    unaligned: bool = True
    """Whether elements may be loaded from any address."""
    threads: bool = True

    @property
    def machine(self) -> str:
        """The kind of processor, as the triple has it: `x86_64`, `aarch64`, `wasm32`."""
        return self.triple.split("-")[0]

    @property
    def text_facts(self) -> tuple[object, ...]:
        """What the text of a kernel depends on, beside its schedule."""
        return self.triple, self.vector, self.registers, self.fma, self.half, self.pointer, self.unaligned, self.threads

    @property
    def futex(self) -> bool:
        """Whether threads can wait for each other in the system: Linux has a call for it."""
        return self.threads and "linux" in self.triple

    @property
    def halves(self) -> bool:
        """Whether registers of half the length do as much in a cycle: each whole one is two steps of an instruction."""
        return self.cpu in _HALVES and self.vector == 64

    @property
    def fetches_ahead(self) -> bool:
        """Whether memory is so far away that weights are to be prefetched, however little is computed with them."""
        return self.cpu in _FAR

    @property
    def masks(self) -> bool:
        """Whether elements of any size are loaded and stored under a mask at no cost."""
        return self.vector == _MASKED_VECTOR

    def lanes(self, width: int) -> int:
        """How many elements of `width` bytes a vector holds."""
        return max(1, self.vector // width)


def named(name: str) -> Target:
    """The target of a name; InputError lists the names if there is none of this one."""
    target = _NAMED.get(name)
    if target is None:
        raise InputError(f"there is no target '{name}'; there are {', '.join(_NAMED)}", hint=nearest(name, _NAMED))
    return target


def names() -> tuple[str, ...]:
    """The names that `named` knows."""
    return tuple(_NAMED)


def level_of(target: Target) -> str | None:
    """The level of x86-64 whose code is right for a target: it has the instructions, and the same registers."""
    features = set(target.features.split(","))
    for level, needed in _LEVELS.items():
        other = _NAMED[level]
        if target == other or (needed <= features and target.text_facts == other.text_facts):
            return level
    return None


_V2 = Target("x86_64-unknown-linux-gnu", "x86-64-v2", "", 16, 16, fma=False, half=False)
_V3 = replace(_V2, cpu="x86-64-v3", vector=32, fma=True, half=True)
_V4 = replace(_V3, cpu="x86-64-v4", features=WHOLE_VECTORS.lstrip(","), vector=64, registers=32)
_VNNI = replace(_V4, features=f"+avx512vnni{WHOLE_VECTORS}", dots=(Dot.AVX512_VNNI,))
_BF16 = replace(
    _V4, features=f"+avx512vnni,+avx512bf16{WHOLE_VECTORS}", dots=(Dot.AVX512_VNNI, Dot.AVX512_BF16), l2=2 << 20
)
_AMX = replace(
    _V4, cpu="sapphirerapids", l1=48 << 10, l2=2 << 20,
    dots=(Dot.AVX_VNNI, Dot.AVX512_VNNI, Dot.AVX512_BF16, Dot.AMX_INT8, Dot.AMX_BF16),
)  # fmt: skip
_NEON = Target("aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32, l2=512 << 10)
_NEON_DOT = replace(_NEON, features="+neon,+dotprod,+fullfp16", dots=(Dot.NEON_DOT,))
_NEON_I8MM = replace(
    _NEON, features="+neon,+dotprod,+fullfp16,+i8mm,+bf16", l1=64 << 10, l2=1 << 20,
    dots=(Dot.NEON_DOT, Dot.NEON_I8MM, Dot.NEON_BF16),
)  # fmt: skip
_SVE = replace(_NEON_I8MM, features=f"{_NEON_I8MM.features},+sve", scalable=True)
_WASM = Target(
    "wasm32-unknown-unknown", "generic", "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint", 16, 16,
    pointer=32, fma=False, half=False, threads=False,
)  # fmt: skip

_NAMED = {
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "x86-64-v4+vnni": _VNNI,
    "x86-64-v4+bf16": _BF16,
    "x86-64-v4+amx": _AMX,
    "aarch64": _NEON,
    "aarch64+dotprod": _NEON_DOT,
    "aarch64+i8mm": _NEON_I8MM,
    "aarch64+sve": _SVE,
    "wasm32": _WASM,
}

_V3_FEATURES = {
    "+sse4.2", "+popcnt", "+crc32", "+cx16", "+sahf", "+xsave",
    "+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe",
}  # fmt: skip
_V4_FEATURES = _V3_FEATURES | {"+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"}

_LEVELS = {"x86-64-v4": _V4_FEATURES, "x86-64-v3": _V3_FEATURES}
"""The levels that code is compiled ahead for, the widest first, and the features by which a processor has them.

LLVM may use any instruction of a level, so each has all the features that the level adds to the first x86-64, but for
those that another one of them implies.
"""
