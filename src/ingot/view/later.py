"""Modules that are imported when something of them is first used: what a user waits for needs nothing of them.

Importing numpy takes longer than reading, grouping and laying out a model of some hundred nodes. `dataclasses` imports
`inspect`, which takes some milliseconds, for classes without a docstring.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

_LOCK = threading.Lock()


def imported_later(name: str) -> None:
    """Let `import` give a module that becomes the one of this name once something of it is asked for.

    It stays as it is if it is there already. Only modules that are in no package can be so.
    """
    spec = None if name in sys.modules else PathFinder.find_spec(name)
    if spec is not None:
        later = _Later(name)
        later.__spec__ = spec
        sys.modules[name] = later


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        """What the module has under a name that is not here yet: after the first, all are."""
        with _LOCK:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)  # another thread that imports it meanwhile is waited for
        self.__dict__.update(vars(module))
        return getattr(module, name)
