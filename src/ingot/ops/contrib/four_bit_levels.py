"""What the sixteen codes of a 4-bit element stand for, in MatMulBnb4 and in what quantises its weights."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array

_MAGNITUDES = [0, 0.0625 / 12, 8 / 12, 1, 4 / 12, 6 / 12, 2 / 12, 3 / 12]

FP4: Array = np.array([*_MAGNITUDES, *(-x for x in _MAGNITUDES)], np.float32)
"""Floats of one sign, two exponent and one mantissa bits, from 0 to 1; the highest bit of a code is the sign."""

NF4: Array = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
        *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
        *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
"""The levels of NormalFloat of four bits, of Dettmers et al., QLoRA (2023): quantiles of the normal distribution."""
