"""Looking at a model: its groups, their layout, and the page that shows them. `ingot.view(model)` opens the page."""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """The package can be called, so that `ingot.view(model)` works whether or not it was imported before."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        from ingot.view.api import view  # starts a server, which those who draw do not need

        return view(*args, **named)


sys.modules[__name__].__class__ = _CallableModule
