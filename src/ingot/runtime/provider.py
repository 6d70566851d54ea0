"""The provider protocol: a provider computes the nodes of a model that the providers before it refuse.

A session has providers in order. The first may compile: the nodes that it does not refuse become primitives, kernels
and a plan. Nodes that it refuses are computed one by one, each by the first *evaluator* that does not refuse it;
`reference` refuses none. A provider is an object with these attributes; it is added by a package of its own and a line
in `providers/__init__.py`, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from ingot.codegen.executable_memory import Code
    from ingot.codegen.kernel_code import KernelCode
    from ingot.dtypes import Array
    from ingot.fuse.build import Fused
    from ingot.fuse.limits import FusionLimits
    from ingot.ir.node import Node
    from ingot.loops.ir import Buffer, Kernel
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.prim.tensor import Tensor
    from ingot.runtime.device_array import DeviceArray
    from ingot.schedule.schedule import Scheduled


Replay: TypeAlias = Callable[[], None]
"""Begins, on a device, what was captured."""


class Provider(Protocol):
    """Computes nodes, or refuses them with a reason."""

    @property
    def name(self) -> str:
        """Its name for sessions and users."""

    def refuses(
        self, node: Node, operator: Operator | None, inputs: Sequence[Fact], outputs: Sequence[Fact]
    ) -> str | None:
        """Why this provider does not compute a node, for people; None if it does."""


@runtime_checkable
class Evaluator(Provider, Protocol):
    """A provider that computes one node at a time, from arrays to arrays."""

    takes_all: bool
    """Whether it refuses nothing, so that `refuses` need not be called."""

    def compute(self, node: Node, operator: Operator, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> Any:
        """The results of a node's operator: one, or a tuple of several."""


class DeviceMemory(Protocol):
    """The memory of a machine that the host does not read or write in place.

    An address is a number that kernels get in the table of slots; those in between belong to the same allocation. A
    plan has an arena for each frame, holds the constants, and copies inputs and results: each at most once in a run,
    as its segments list. Where there is no memory left, `allocate` raises ProviderError.
    """

    def begin_run(self) -> None:
        """Prepare this thread for a run, which ends with `end_run`: until then nobody else uses the device in it."""

    def end_run(self) -> None:
        """End a run."""

    def allocate(self, size: int, shared: bool = False) -> int:
        """The address of so many bytes, at a multiple of 64. The host reads and writes shared ones in place, too.

        Shared is what jumps read, such as the condition of a branch; a kernel that writes it returns when it is there.
        """

    def free(self, address: int) -> None:
        """Give back what was allocated; any thread may call this, at any time."""

    def upload(self, array: Array, address: int) -> None:
        """Copy a contiguous array of the host to an address."""

    def upload_own(self, array: Array, address: int) -> None:
        """The same, of memory that nobody but the caller knows of, such as that of a file it has mapped."""

    def download(self, address: int, array: Array) -> None:
        """Begin to copy as many bytes as a contiguous array of the host has from an address to it.

        The copy begins when kernels are done, and is there after `finish`.
        """

    def copy(self, copies: Sequence[tuple[int, int, int]]) -> None:
        """Begin copies inside of this memory: each to an address, from another, of so many bytes."""

    def result_array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array of the host, of any contents, that results are quickly copied to."""

    def finish(self) -> None:
        """Wait until all kernels and copies that were begun are done, and their errors are in the state of the run.

        That state is shared memory.
        """

    def capture(
        self, begin: Callable[[], None], before: Replay | None = None, counters: Collection[int] = ()
    ) -> Replay | None:
        """What begins, in one call, all kernels and copies that `begin` would begin alike; none begin now.

        `before` is such a call that is not needed any more, and may become the new one. `counters` are addresses of
        shared int64 numbers: a kernel reads what is there when it is captured. None where there is no such thing.
        """

    def adopted(self, value: Any) -> DeviceArray | None:
        """A tensor of another library that is in this memory, without a copy; None for anything else."""

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """The type and number of the device, as DLPack has them."""

    def settle(self) -> None:
        """Wait until nobody reads or writes memory of the device: other libraries, too."""

    def timed(self, begin: Callable[[], object]) -> float:
        """The seconds that what `begin` begins takes on the device, once it is done."""

    def limits(self) -> tuple[float, float]:
        """Operations of float32, and bytes read or written, in a second: the latter measured."""

    def stored(self, address: int) -> bytes | None:
        """The code of the kernel at an address as plan files hold it; None for what only this process can have."""

    def restored(self, stored: bytes) -> Code:
        """The code of a kernel that was stored."""


@runtime_checkable
class Compiler(Provider, Protocol):
    """A provider that compiles kernels for a machine; a plan runs them.

    `compile.py` calls these methods in this order. The thread pool calls a kernel as `i64 kernel(slots, which, scalars,
    state, thread, piece, pieces)`: see `codegen/llvm/kernel.py`.
    """

    @property
    def lacks(self) -> tuple[type[Tensor], ...]:
        """The kinds of primitives that it has no kernels for: a node that is lowered to one is refused."""

    @property
    def narrows_values(self) -> bool:
        """Whether a precision of 16 bits is that of all that products read and compute, not of products alone."""

    @property
    def fills_channels(self) -> bool:
        """Whether it copies four neighbours at once, so that images of three channels are given a fourth."""

    @property
    def fingerprint(self) -> str | None:
        """What plans on disk are found by: other than that of any other provider or machine; None to cache none."""

    @property
    def threads(self) -> int:
        """How many threads run a plan, unless a session sets another number."""

    def warm_up(self, nodes: int = 0) -> None:
        """Start what compiling will need, in the background: a model is being loaded meanwhile.

        Called again when it is known how many nodes the model has.
        """

    @property
    def memory(self) -> DeviceMemory | None:
        """The memory of its machine; None where that is the host's, and arrays are read and written where they are."""

    def limits(self) -> FusionLimits:
        """The numbers that fusion decides by, for the machine."""

    def schedule(self, fused: Fused) -> Scheduled:
        """The fused kernels scheduled for the machine."""

    def emit(self, scheduled: Scheduled, draft: bool, /) -> Mapping[Kernel, Any]:
        """Begin to compile every kernel, in the background; `link` takes the result.

        With `draft`, drafts of kernels may come first, for `link_draft`: slower code that is compiled sooner, and gives
        the same results to the bit.
        """

    def hold(self, scheduled: Scheduled) -> Mapping[Buffer, Array]:
        """The contents of every constant buffer, packed as the kernels read it; the plan copies them to `memory`."""

    def link_draft(self, emitted: Mapping[Kernel, Any]) -> Mapping[Kernel, KernelCode] | None:
        """The code or a draft of every kernel, whichever is there first; None if no draft is among it."""

    def link(self, emitted: Mapping[Kernel, Any]) -> Mapping[Kernel, KernelCode]:
        """The code of every kernel, once compiled; CompileError if that fails."""
