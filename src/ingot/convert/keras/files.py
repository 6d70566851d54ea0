"""Saved models of Keras: loaded without running the code that may be in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from ingot.convert.keras.quiet import quiet
from ingot.errors import ConvertError


def loaded(path: Path, *, trusted: bool) -> Any:
    """The model of a `.keras` or `.h5` file; Python code in it is loaded only where it is trusted.

    ConvertError if it holds such code, or cannot be read.
    """
    try:
        with quiet():
            return keras.saving.load_model(path, compile=False, safe_mode=not trusted)
    except Exception as error:  # whatever a file may hold
        text = str(error).strip()
        if "safe_mode" in text or "unsafe" in text:
            raise ConvertError(
                f"'{path}' has Python code in it, which would run as it is loaded",
                hint="where you trust who made it: trust_pickle=True, or --trust-pickle",
            ) from error
        first = text.splitlines()[0] if text else type(error).__name__
        raise ConvertError(
            f"'{path}' cannot be loaded: {first}",
            hint="layers of your own: load it with keras.saving.load_model and convert the model",
        ) from error
