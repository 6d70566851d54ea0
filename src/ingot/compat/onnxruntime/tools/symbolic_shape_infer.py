"""The type of every value of a model, with sizes as expressions of those of the inputs."""

from __future__ import annotations

from typing import Any

from ingot.format.onnx import from_onnx, to_onnx
from ingot.infer.stepwise import types_of


class SymbolicShapeInference:
    """Inference of shapes, by the name that onnxruntime has for it."""

    @staticmethod
    def infer_shapes(
        in_mp: Any,
        int_max: int = 2**31 - 1,
        auto_merge: bool = False,
        guess_output_rank: bool = False,
        verbose: int = 0,
    ) -> Any:
        """A copy of an onnx.ModelProto that declares the types of its values; CheckError if it breaks the standard.

        The other arguments steer how onnxruntime guesses; here nothing is guessed.
        """
        del int_max, auto_merge, guess_output_rank, verbose
        model = from_onnx(in_mp)
        for value, type_ in types_of(model, name_sizes=True).items():
            value.type = type_
        return to_onnx(model)
