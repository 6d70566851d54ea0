"""numpy, imported when something of it is first used: the first picture of a model needs nothing of it.

Importing it takes longer than reading, grouping and laying out a model of some hundred nodes.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

_NAME = "numpy"
_LOCK = threading.Lock()


def numpy_later() -> None:
    """Let `import numpy` give a module that becomes numpy once something of it is asked for, unless it is there."""
    if _NAME not in sys.modules:
        later = _Later(_NAME)
        later.__spec__ = importlib.util.find_spec(_NAME)
        sys.modules[_NAME] = later


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        """What numpy has under a name that is not here yet: after the first, all are."""
        with _LOCK:
            if sys.modules.get(_NAME) is self:
                del sys.modules[_NAME]
        numpy = importlib.import_module(_NAME)  # another thread that imports it meanwhile is waited for
        self.__dict__.update(vars(numpy))
        return getattr(numpy, name)
