"""Where the modules of `onnxruntime` come from: ours, or the Python files of an onnxruntime installed beside."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

SHADOW = str(Path(__file__).with_name("shadow"))
"""The directory with a package `onnxruntime` that is ours, for `sys.path`."""

_OURS = "ingot.compat"
_CORE = ("backend", "capi", "datasets")
_INSTEAD = ("quantization", "tools", "transformers")
_BESIDE = "with onnxruntime installed too (env -u PYTHONPATH pip install onnxruntime), its own runs on ingot"
_HINTS = {
    "quantization": _BESIDE,
    "tools": _BESIDE,
    "training": "ingot.to_torch makes a module of a model, which torch trains",
    "transformers": _BESIDE,
}


class Finder:
    """Finds `onnxruntime` and its modules, before any other finder does.

    The core is ours. Of the rest, the Python modules of an installed onnxruntime come first, and import our core; what
    we have in their place comes second. Libraries of an installed onnxruntime are never loaded.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, rest = fullname.partition(".")
        if package != "onnxruntime":
            return None
        if not rest:
            return PathFinder.find_spec(fullname, [SHADOW])
        part = rest.partition(".")[0]
        if part in _CORE:
            return _ours(fullname) or _beside(fullname)
        spec = _beside(fullname)
        if spec is None and part in _INSTEAD and _beside(f"onnxruntime.{part}") is None:
            spec = _ours(fullname)
        if spec is None and part in _HINTS and _is_import():
            # without its name: the import system forgets an error with the name of what is imported from a package
            raise ModuleNotFoundError(f"{fullname} is not part of ingot's onnxruntime: {_HINTS[part]}")
        return spec


class _Alias(Loader):
    """Gives our module in place of the one that is imported; of a package a copy, so that it can have more modules."""

    def create_module(self, spec: ModuleSpec) -> None:
        """A new module, which `exec_module` fills or replaces."""

    def exec_module(self, module: ModuleType) -> None:
        ours = import_module(f"{_OURS}.{module.__name__}")
        if hasattr(ours, "__path__"):
            copied = ("__doc__", "__file__", "__path__", "__all__")
            vars(module).update({name: x for name, x in vars(ours).items() if name in copied or name[:2] != "__"})
        else:
            sys.modules[module.__name__] = ours


def _ours(fullname: str) -> ModuleSpec | None:
    try:
        spec = find_spec(f"{_OURS}.{fullname}")
    except ModuleNotFoundError:  # its package is not ours
        return None
    if spec is None:
        return None
    return spec_from_loader(fullname, _Alias(), is_package=spec.submodule_search_locations is not None)


def _beside(fullname: str) -> ModuleSpec | None:
    package, *parents, _ = fullname.split(".")
    installed = PathFinder.find_spec(package, [entry for entry in sys.path if entry != SHADOW])
    if installed is None or not installed.has_location:
        return None
    directories = [str(Path(base, *parents)) for base in installed.submodule_search_locations or ()]
    spec = PathFinder.find_spec(fullname, directories)
    return None if spec is None or isinstance(spec.loader, ExtensionFileLoader) else spec


def _is_import() -> bool:
    """Whether a finder was called to import a module, and not to ask whether there is one."""
    caller = sys._getframe(2).f_back  # of importlib's function that asks the finders
    return caller is not None and caller.f_code.co_name == "_find_and_load_unlocked"
