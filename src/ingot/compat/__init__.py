"""Other packages' APIs on top of ingot, importable in their place."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

from ingot.compat.finder import SHADOW, Finder


def install() -> ModuleType:
    """Make `import onnxruntime` give ingot's, in this process and those it starts from now on; returns it.

    Child processes find it on their path: a directory with a package `onnxruntime` comes first in PYTHONPATH and, for
    those of `multiprocessing`, in `sys.path`.

    RuntimeError if the real one is imported already: some modules would hold the one and some the other. Doing it twice
    does no harm.
    """
    present = sys.modules.get("onnxruntime")
    if present is not None and not _is_ours(present):
        raise RuntimeError("onnxruntime is imported already: call ingot.compat.install() before anything imports it")
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
    if SHADOW not in sys.path:
        sys.path.insert(1, SHADOW)  # the first entry is where the program is
    os.environ["PYTHONPATH"] = os.pathsep.join([SHADOW, *_inherited()])
    return import_module("onnxruntime")


def uninstall() -> None:
    """Undo `install`; modules that have imported it keep it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxruntime"]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]
    sys.path[:] = [entry for entry in sys.path if entry != SHADOW]
    inherited = _inherited()
    if inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join(inherited)
    else:
        os.environ.pop("PYTHONPATH", None)


def _is_ours(module: ModuleType) -> bool:
    return str(getattr(module, "__file__", None)).startswith(SHADOW + os.sep)


def _inherited() -> list[str]:
    """The entries of PYTHONPATH that are not ours."""
    path = os.environ.get("PYTHONPATH")
    return [entry for entry in path.split(os.pathsep) if entry != SHADOW] if path else []
