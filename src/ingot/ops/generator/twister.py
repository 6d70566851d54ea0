"""The Mersenne twister in primitives: the numbers that numpy's `RandomState` draws from a seed.

Its state are 624 words, and a step makes 624 others from them. A word follows from one that is 397 places behind it, or
of the new ones from 227 before it: three stretches, and the last word, which the first of the new ones belongs to.
"""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.make_region import repeat

_WORDS = 624
_AHEAD = 397
_BACK = _WORDS - _AHEAD
_MATRIX = 0x9908B0DF
_TEMPERED = ((7, 0x9D2C5680), (15, 0xEFC60000))


def twisted_uniform(seed: int, shape: prim.Sizes) -> prim.Tensor:
    """FLOAT64 from 0 to below 1, as `RandomState(seed).uniform(size=shape)` draws them."""
    total = prim.count(shape)
    first = prim.constant(np.asarray(np.random.RandomState(seed).get_state(legacy=False)["state"]["key"], np.uint32))
    rounds: Dim = (2 * total + (_WORDS - 1)) // _WORDS

    def body(_: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        following = _next(states[0])
        return [following], [_tempered(following)]

    _, rows = repeat(rounds, [first], body)
    words = prim.reshape(rows[0], (rounds * (_WORDS // 2), 2))
    words = prim.slice_(words, [0, 0], [total, 2], in_range=True)
    upper, lower = (
        prim.cast(_right(prim.slice_(words, [0, place], [total, 1]), bits), DType.FLOAT64)
        for place, bits in ((0, 5), (1, 6))
    )
    return prim.reshape((upper * 2.0**26 + lower) * 2.0**-53, shape)


def _next(state: prim.Tensor) -> prim.Tensor:
    """The next 624 words."""
    old = _joined(_part(state, 0, _WORDS - 1), _part(state, 1, _WORDS - 1))
    first = _xor(_part(state, _AHEAD, _BACK), _part(old, 0, _BACK))
    second = _xor(first, _part(old, _BACK, _BACK))
    rest = _AHEAD - 1 - _BACK
    third = _xor(_part(second, 0, rest), _part(old, 2 * _BACK, rest))
    last = _xor(_part(second, rest, 1), _joined(_part(state, _WORDS - 1, 1), _part(first, 0, 1)))
    return prim.concat([first, second, third, last], 0)


def _joined(one: prim.Tensor, other: prim.Tensor) -> prim.Tensor:
    """What the highest bit of one word and the others of another contribute."""
    word = prim.apply("or", prim.apply("and", one, 0x80000000), prim.apply("and", other, 0x7FFFFFFF))
    return _xor(_right(word, 1), prim.apply("and", other, 1) * _MATRIX)


def _tempered(word: prim.Tensor) -> prim.Tensor:
    word = _xor(word, _right(word, 11))
    for bits, mask in _TEMPERED:
        word = _xor(word, prim.apply("and", prim.apply("shift_left", word, bits), mask))
    return _xor(word, _right(word, 18))


def _part(x: prim.Tensor, start: int, size: int) -> prim.Tensor:
    return prim.slice_(x, [start], [size])


def _xor(one: prim.Tensor, other: prim.Tensor) -> prim.Tensor:
    return prim.apply("xor", one, other)


def _right(x: prim.Tensor, bits: int) -> prim.Tensor:
    return prim.apply("shift_right", x, bits)
