"""Sums and products of terms."""

from __future__ import annotations

from ingot.dims.terms import LIMIT, Terms, length, merge, within_limit

ONE: Terms = {(): 1}


def add(x: Terms, y: Terms, times: int = 1) -> Terms:
    """The sum of x and times*y, where times is 1 or -1."""
    if not y:
        return x
    total = x.copy()
    for monomial, coefficient in y.items():
        new = total.get(monomial, 0) + times * coefficient
        if new:
            total[monomial] = new
        else:
            del total[monomial]
    return within_limit(total)


def negate(x: Terms) -> Terms:
    return {monomial: -coefficient for monomial, coefficient in x.items()}


def multiply(x: Terms, y: Terms) -> Terms:
    if () in x and len(x) == 1:
        x, y = y, x
    if not y or not x:
        return {}
    if () in y and len(y) == 1:
        times = y[()]
        return x if times == 1 else within_limit({monomial: c * times for monomial, c in x.items()})
    if len(x) * length(y) + len(y) * length(x) > 4 * LIMIT:
        raise ValueError(f"the product of {len(x)} and {len(y)} terms would take more than {LIMIT} characters")
    product: Terms = {}
    for m, c in x.items():
        for n, d in y.items():
            monomial = merge(m, n)
            product[monomial] = product.get(monomial, 0) + c * d
    return within_limit({monomial: c for monomial, c in product.items() if c})
