"""Sizes as the text of Python expressions."""

from __future__ import annotations

from ingot.dims.expr import Dim, terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingot.dims.terms import Terms


def formula(dim: Dim, names: Mapping[str, str]) -> str:
    """The text of a Python expression that is `dim`, symbols called as `names` says; KeyError where one has no name."""
    return _sum(terms_of(dim), names)


def _sum(terms: Terms, names: Mapping[str, str]) -> str:
    products = []
    for monomial, coefficient in terms.items():
        factors = [] if coefficient == 1 and monomial else [str(coefficient)]
        for atom in monomial:
            if isinstance(atom, str):
                factors.append(names[atom])
                continue
            args = [_sum(arg, names) for arg in atom.args]
            factors.append(f"(({args[0]})//({args[1]}))" if atom.op == "//" else f"{atom.op}({', '.join(args)})")
        products.append("*".join(factors))
    return " + ".join(products) or "0"
