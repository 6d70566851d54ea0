"""Terms with other terms, or numbers, in the places of symbols."""

from __future__ import annotations

from ingot.dims.arithmetic import add, multiply
from ingot.dims.division import floor_divide
from ingot.dims.extremes import extreme
from ingot.dims.terms import Terms, constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def replaced(terms: Terms, size: Callable[[str], Terms]) -> Terms:
    """The terms with each symbol replaced by what `size` returns for its name."""
    total: Terms = {}
    for monomial, coefficient in terms.items():
        product = constant(coefficient)
        for atom in monomial:
            if isinstance(atom, str):
                factor = size(atom)
            else:
                args = [replaced(arg, size) for arg in atom.args]
                factor = floor_divide(*args) if atom.op == "//" else extreme(atom.op, args)
            product = multiply(product, factor)
        total = add(total, product)
    return total


def value_of(terms: Terms, size: Callable[[str], int]) -> int:
    """The number that terms are where `size` returns that of each symbol."""
    total = 0
    for monomial, product in terms.items():
        for atom in monomial:
            if isinstance(atom, str):
                product *= size(atom)
            else:
                args = [value_of(arg, size) for arg in atom.args]
                product *= args[0] // args[1] if atom.op == "//" else max(args) if atom.op == "max" else min(args)
        total += product
    return total
