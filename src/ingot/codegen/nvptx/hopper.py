"""Instructions that Hopper alone has: barriers of bytes, the copy engine (TMA), products of warpgroups, clusters.

Addresses in shared memory are int32.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import F32, I32, I64
from ingot.codegen.nvptx.inline import ptx
from ingot.codegen.nvptx.warp_tiles import DynamicShared
from ingot.dtypes import DType

WARPGROUP = 128
"""Threads that multiply together."""

LINE = 128
"""Bytes of a line of a tile, whose pieces of 16 bytes are swizzled by its number."""

PROCESSOR = "sm_90a"
"""The processor that alone has these instructions."""

ATOM = 8 * LINE
"""Bytes of the eight lines after which swizzling repeats: tiles begin at multiples of them."""

# --- mbarrier: counts arrivals and bytes under way, and ends a phase when none is left


def barrier_init(b: Builder, address: ir.Value, arrivals: int) -> None:
    ptx(b, f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", [address])


def barriers_are_there(b: Builder) -> None:
    """Let the copy engine and other blocks see barriers that were initialised."""
    ptx(b, "fence.mbarrier_init.release.cluster;")


def barrier_expect(b: Builder, address: ir.Value, size: int) -> None:
    """Arrive, with so many bytes to wait for."""
    ptx(b, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", [address, I32(size)])


def barrier_arrive(b: Builder, address: ir.Value) -> None:
    ptx(b, "mbarrier.arrive.shared::cta.b64 _, [$0];", [address])


def barrier_arrive_after_copies(b: Builder, address: ir.Value) -> None:
    """Arrive once all pieces are there that this thread has asked for (`cp.async`), without waiting for them."""
    ptx(b, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", [address])


def barrier_wait(b: Builder, address: ir.Value, parity: ir.Value) -> None:
    """Wait until the phase of a parity has ended; that before the first one has."""
    ptx(
        b,
        "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
        "@done bra.uni over; bra.uni again; over: }",
        [address, parity],
    )


# --- the copy engine


def prefetch_map(b: Builder, tensor_map: ir.Value) -> None:
    ptx(b, "prefetch.tensormap [$0];", [tensor_map])


def copy_tile(b: Builder, to: ir.Value, tensor_map: ir.Value, at: Sequence[ir.Value], barrier: ir.Value) -> None:
    """Begin to copy the box of a tensor that begins at a place; what is outside of the tensor is zeros."""
    rank = len(at)
    places = ", ".join(f"${number + 2}" for number in range(rank))
    ptx(
        b,
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
        f"[$0], [$1, {{{places}}}], [${rank + 2}];",
        [to, tensor_map, *at, barrier],
    )


# --- products of warpgroups


def descriptor(b: Builder, address: ir.Value, panel: int | None = None) -> ir.Value:
    """The descriptor of a tile at an address. Its lines are along the summed axis: 16 terms further, add 2.

    With `panel` they are along the other axis, in panels of 64 elements so many bytes apart: 16 terms further, add 128.
    """
    low = b.zext(b.lshr(b.and_(address, I32(0x3FFFF)), I32(4)), I64)
    between_panels = 1 if panel is None else panel >> 4
    high = (ATOM >> 4 << 32) | (1 << 62) | between_panels << 16
    return b.or_(low, I64(high))


def fence_products(b: Builder) -> None:
    """Before the first product that reads or writes registers which other instructions wrote."""
    ptx(b, "wgmma.fence.sync.aligned;")


def fence_copies(b: Builder) -> None:
    """Before products read what threads wrote to shared memory, or copied there, and this one has seen arrive."""
    ptx(b, "fence.proxy.async.shared::cta;")


def commit_products(b: Builder) -> None:
    ptx(b, "wgmma.commit_group.sync.aligned;")


def wait_for_products(
    b: Builder, pending: int, sums: Sequence[ir.Value], read: Sequence[ir.Value] = ()
) -> list[ir.Value]:
    """The sums, once at most so many groups of products are under way: LLVM takes them to be there before.

    `read` are registers that these read: LLVM would give them to something else before.
    """
    return ptx(b, f"wgmma.wait_group.sync.aligned {pending};", read, [F32] * len(sums), sums)


def multiply(
    b: Builder,
    dtype: DType,
    sums: Sequence[ir.Value],
    left: ir.Value,
    right: ir.Value,
    added: ir.Value,
    along_k: tuple[bool, bool],
) -> list[ir.Value]:
    """Sums of 64 rows, plus (where `added` is not zero) the products of 16 terms of two tiles.

    `along_k` is whether the lines of each tile are along the summed axis. A thread has two sums for each four columns.
    """
    count = len(sums)
    kind = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16"}[dtype]
    registers = ", ".join(f"${number}" for number in range(count))
    at = 2 * count
    turned = ", ".join(str(int(not along)) for along in along_k)
    return ptx(
        b,
        f"{{ .reg .pred added; setp.ne.b32 added, ${at + 2}, 0; "
        f"wgmma.mma_async.sync.aligned.m64n{2 * count}k16.f32.{kind}.{kind} "
        f"{{{registers}}}, ${at}, ${at + 1}, added, 1, 1, {turned}; }}",
        [left, right, added],
        [F32] * count,
        sums,
    )


def multiply_registers(
    b: Builder, dtype: DType, sums: Sequence[ir.Value], left: Sequence[ir.Value], right: ir.Value
) -> list[ir.Value]:
    """Sums of 64 rows, plus the products of 16 terms: four words of `left`, and a tile whose lines are its columns."""
    count = len(sums)
    kind = {DType.FLOAT16: "f16", DType.BFLOAT16: "bf16"}[dtype]
    registers, words = (
        ", ".join(f"${number}" for number in range(first, first + many)) for first, many in ((0, count), (2 * count, 4))
    )
    return ptx(
        b,
        f"wgmma.mma_async.sync.aligned.m64n{2 * count}k16.f32.{kind}.{kind} "
        f"{{{registers}}}, {{{words}}}, ${2 * count + 4}, 1, 1, 1, 1;",
        [*left, right],
        [F32] * count,
        sums,
    )


def multiply_wide(
    b: Builder, sums: Sequence[ir.Value], left: Sequence[ir.Value], right: ir.Value, added: ir.Value
) -> list[ir.Value]:
    """As `multiply`, of 8 terms of TF32; the left operand is in registers, as `ldmatrix` gets it, the right along k."""
    count = len(sums)
    registers = ", ".join(f"${number}" for number in range(count))
    at = 2 * count
    own = ", ".join(f"${at + number}" for number in range(4))
    return ptx(
        b,
        f"{{ .reg .pred added; setp.ne.b32 added, ${at + 5}, 0; "
        f"wgmma.mma_async.sync.aligned.m64n{2 * count}k8.f32.tf32.tf32 "
        f"{{{registers}}}, {{{own}}}, ${at + 4}, added, 1, 1; }}",
        [*left, right, added],
        [F32] * count,
        sums,
    )


def stay_before(b: Builder, total: ir.Value) -> None:
    """What `total`, a float that is never negative, is made from runs before what follows.

    ptxas moves a wait for products up to the head of its basic block, in front of the work that is meant to run beside
    them; a branch that is never taken ends the block.
    """
    ptx(b, "{ .reg .pred never; setp.lt.f32 never, $0, 0f00000000; @never exit; }", [total])


def meet(b: Builder, threads: int) -> None:
    """Wait for so many threads of the block, whole warps: all that call this."""
    ptx(b, f"barrier.sync 1, {threads};")


def set_registers(b: Builder, count: int, *, more: bool) -> None:
    """Take registers that other warpgroups gave back, or give some back; all warps of a warpgroup do."""
    ptx(b, f"setmaxnreg.{'inc' if more else 'dec'}.sync.aligned.u32 {count};")


# --- shared memory, and clusters of blocks


def dynamic_address(b: Builder) -> ir.Value:
    """The address of the shared memory that a launch asks for, aligned as tiles have to be."""
    DynamicShared(b.module)
    return ir.Value(I32, 'ptrtoint (ptr addrspace(3) @"dynamic" to i32)')


def store_pair(b: Builder, address: ir.Value, pair: Sequence[ir.Value]) -> None:
    """Store two float32 to shared memory."""
    ptx(b, "st.shared.v2.f32 [$0], {$1, $2};", [address, *pair])


def store_single(b: Builder, address: ir.Value, value: ir.Value) -> None:
    """Store a float32 to shared memory."""
    ptx(b, "st.shared.f32 [$0], $1;", [address, value])


def store_four(b: Builder, address: ir.Value, four: Sequence[ir.Value]) -> None:
    """Store four words of 32 bits to shared memory."""
    ptx(b, "st.shared.v4.b32 [$0], {$1, $2, $3, $4};", [address, *four])


def load_words(b: Builder, address: ir.Value) -> list[ir.Value]:
    """Four words of 32 bits of the shared memory of this block."""
    return ptx(b, "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", [address], [I32] * 4)


def load_matrices(b: Builder, address: ir.Value) -> list[ir.Value]:
    """Words of four matrices of 8 lines of 16 bytes, to whose lines the threads of a warp point."""
    return ptx(b, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", [address], [I32] * 4)


def load_four(b: Builder, address: ir.Value, rank: int) -> list[ir.Value]:
    """Four float32 at an address of the shared memory of another block of the cluster."""
    text = (
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, $4, $5; "
        "ld.shared::cluster.v4.f32 {$0, $1, $2, $3}, [there]; }"
    )
    return ptx(b, text, [address, I32(rank)], [F32] * 4)


def cluster_rank(b: Builder) -> ir.Value:
    (rank,) = ptx(b, "mov.u32 $0, %cluster_ctarank;", [], [I32])
    return rank


def cluster_sync(b: Builder) -> None:
    """Wait for all threads of the cluster: what they wrote to shared memory before can be read after."""
    ptx(b, "barrier.cluster.arrive.release;")
    ptx(b, "barrier.cluster.wait.acquire;")
