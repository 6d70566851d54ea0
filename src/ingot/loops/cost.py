"""The cost of a kernel: operations, and bytes read and written, as expressions of the named sizes."""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Kernel
from ingot.loops.kinds import kind_of
from ingot.loops.tally import Tally


@dataclass(frozen=True, slots=True)
class Cost:
    """`operations` are two for each term of a product, and for each function of an element what `function_costs` says.

    Bytes are counted as if every element were moved once: what a kernel reads again comes from a cache, if all is well.
    """

    operations: Dim
    read: Dim
    written: Dim


def operations_of(kernel: Kernel) -> Dim:
    """The operations of a kernel alone, which take less time to count than all its cost."""
    tally = Tally(moves=False)
    for nest in kernel.nests:
        kind_of(nest).cost(nest, tally)
    return tally.operations


def cost_of(kernel: Kernel) -> Cost:
    """The cost of a kernel."""
    tally = Tally()
    for nest in kernel.nests:
        kind_of(nest).cost(nest, tally)
    return Cost(tally.operations, tally.bytes_read(kernel.writes), tally.bytes_written)
