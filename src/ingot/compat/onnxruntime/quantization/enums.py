"""What onnxruntime's quantiser is asked for by number."""

from __future__ import annotations

from enum import Enum


class QuantType(Enum):
    """The type of codes."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def from_string(t: str) -> QuantType:
        """The type of this name; ValueError if there is none."""
        try:
            return QuantType[t]
        except KeyError:
            raise ValueError(t) from None


class QuantFormat(Enum):
    """How a quantised model is written."""

    QOperator = 0
    QDQ = 1


class CalibrationMethod(Enum):
    """How a range is found."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3
