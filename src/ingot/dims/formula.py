"""Sizes as the text of Python expressions."""

from __future__ import annotations

from ingot.dims.expr import Dim, terms_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def formula(dim: Dim, names: Mapping[str, str]) -> str:
    """The text of a Python expression that is `dim`, symbols called as `names` says; KeyError where one has no name."""
    terms = []
    for monomial, coefficient in terms_of(dim).items():
        factors = [] if coefficient == 1 and monomial else [str(coefficient)]
        for atom in monomial:
            if isinstance(atom, str):
                factors.append(names[atom])
                continue
            args = [formula(arg, names) for arg in atom.args]
            factors.append(f"(({args[0]})//({args[1]}))" if atom.op == "//" else f"{atom.op}({', '.join(args)})")
        terms.append("*".join(factors))
    return " + ".join(terms) or "0"
