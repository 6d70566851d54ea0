"""The example models of onnxruntime's documentation, which are not here."""

from typing import NoReturn


def get_example(name: str) -> NoReturn:
    """FileNotFoundError, always: the examples are part of the onnxruntime package."""
    raise FileNotFoundError(f"example '{name}' comes with the onnxruntime package and is not part of ingot")
