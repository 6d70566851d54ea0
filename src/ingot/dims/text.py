"""Sizes as text that `parse` reads."""

from __future__ import annotations

from ingot.dims.terms import Call, Terms, atom_text, lone_atom, order


def sum_text(shown: Terms) -> str:
    """The text of terms that are to be shown."""
    text = ""
    for monomial, c in sorted(shown.items(), key=lambda term: order(term[0])):
        factors = [str(abs(c))] if abs(c) != 1 or not monomial else []
        for atom in dict.fromkeys(monomial):
            factor, power = atom_text(atom), monomial.count(atom)
            if isinstance(atom, Call) and atom.op in ("//", "%") and (c != 1 or len(monomial) > 1):
                factor = f"({factor})"
            factors.append(factor if power == 1 else f"{factor}**{power}")
        sign = (" - " if c < 0 else " + ") if text else "-" if c < 0 else ""
        text += sign + "*".join(factors)
    return text or "0"


def operand_text(terms: Terms, shown: Terms) -> str:
    """The text of an operand of a division: in parentheses where it would be read otherwise."""
    atom = lone_atom(terms)
    is_number = not terms or (len(terms) == 1 and () in terms)
    is_open = terms.get((), 0) < 0 if is_number else atom is None
    text = sum_text(shown)
    return f"({text})" if is_open or (isinstance(atom, Call) and atom.op == "//") else text


def call_text(op: str, args: tuple[Terms, ...], shown: tuple[Terms, ...]) -> str:
    """The text of a call."""
    if op in ("//", "%"):
        return ("//" if op == "//" else " % ").join(map(operand_text, args, shown))
    return f"{op}({', '.join(map(sum_text, shown))})"
