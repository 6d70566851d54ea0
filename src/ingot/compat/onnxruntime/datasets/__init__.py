"""Example models with the names, inputs and outputs of those in onnxruntime's documentation; their weights are ours."""

import os
from pathlib import Path


def get_example(name: str) -> str:
    """The path of an example: `logreg_iris.onnx`, `mul_1.onnx` or `sigmoid.onnx`; FileNotFoundError for another."""
    path = Path(__file__).parent / name
    if os.path.dirname(name) or not path.is_file():
        raise FileNotFoundError(f"Unable to find example '{name}'")
    return str(path)
