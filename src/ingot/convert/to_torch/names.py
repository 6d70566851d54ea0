"""Names of a model as names of Python: variables, attributes of modules, keys of a state dict."""

from __future__ import annotations

import keyword
import re

_MOST_LETTERS = 24
_DEEPEST = 16

_OF_MODULES = frozenset(
    {
        *(
            "T_destination",
            "add_module",
            "apply",
            "bfloat16",
            "buffers",
            "call_super_init",
            "children",
            "compile",
            "cpu",
        ),
        *("cpu", "cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward", "get_buffer"),
        *(
            "get_extra_state",
            "get_parameter",
            "get_submodule",
            "half",
            "ipu",
            "load_state_dict",
            "modules",
            "mtia",
            "named_buffers",
        ),
        *("named_children", "named_modules", "named_parameters", "parameters", "register_backward_hook"),
        *("register_buffer", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
        *("register_full_backward_pre_hook", "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook"),
        *("register_module", "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook"),
        *("requires_grad_", "set_extra_state", "set_submodule", "share_memory", "source", "state_dict", "to"),
        *("to_empty", "train", "training", "type", "xpu", "zero_grad"),
    }
)
"""What torch.nn.Module has itself: no parameter is called so."""

_OF_SOURCE = frozenset(
    {
        *("F", "Model", "Part", "Path", "Tensor", "abs", "bool", "buffer", "complex", "device", "dict", "enumerate"),
        *("float", "int", "len", "list", "load", "math", "max", "min", "next", "nn", "np", "parameter", "place"),
        *("range", "round", "self", "str", "sum", "super", "torch", "tuple", "zip"),
    }
)
"""The names that the source uses beside its own variables."""


class Names:
    """Names given out so far, none of them twice."""

    def __init__(self, reserved: frozenset[str] = frozenset()) -> None:
        self._used = set(_OF_SOURCE | reserved)
        self._count = 0

    def variable(self, name: str) -> str:
        """A variable for the value called `name`: that, where it is short and Python's, or else a number."""
        if name.isdecimal() and name.isascii():
            name = f"x{name}"
        if is_plain(name) and len(name) <= _MOST_LETTERS and name not in self._used:
            self._used.add(name)
            return name
        return self.numbered("x")

    def own(self, name: str) -> str:
        """A variable for an input, which callers name: as near to `name` as Python has it."""
        return self._free(sanitised(name))

    def numbered(self, stem: str) -> str:
        """A new variable: `x1`, `x2`, ..."""
        while True:
            self._count += 1
            if (name := f"{stem}{self._count}") not in self._used:
                self._used.add(name)
                return name

    def _free(self, stem: str) -> str:
        name, count = stem, 1
        while name in self._used:
            count += 1
            name = f"{stem}_{count}"
        self._used.add(name)
        return name


class Keys:
    """Keys of a state dict: the names that initialisers have, where modules in modules can bear them."""

    def __init__(self) -> None:
        self._leaves: set[str] = set()
        self._inner: set[str] = set()

    def key(self, name: str) -> str:
        """The key for an initialiser: its own name, or one made of it that is free."""
        parts = name.split(".")
        if len(parts) <= _DEEPEST and all(map(_is_part, parts)) and self._fits(name):
            return self._take(name)
        stem = sanitised(name)
        candidate, count = stem, 1
        while candidate in _OF_MODULES or not self._fits(candidate):
            count += 1
            candidate = f"{stem}_{count}"
        return self._take(candidate)

    def _fits(self, key: str) -> bool:
        return key not in self._leaves and key not in self._inner and not any(p in self._leaves for p in _parents(key))

    def _take(self, key: str) -> str:
        self._leaves.add(key)
        self._inner.update(_parents(key))
        return key


def attribute(key: str) -> str:
    """How the source of a module reads what its state dict has under `key`: `self.layers[0].weight`."""
    return "self" + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in key.split("."))


def is_plain(name: str) -> bool:
    """Whether Python takes a name as it is, everywhere: what begins with two underscores a class would change."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def sanitised(name: str) -> str:
    """A name of Python that reminds of `name`, whatever that is."""
    words = re.sub(r"[^0-9A-Za-z_]+", "_", name).strip("_")[-48:].lstrip("_") or "x"
    if words[0].isdecimal():
        words = f"x{words}"
    return words if is_plain(words) else f"{words.strip('_')}_"


def printable(text: str) -> str:
    """Text that a comment can hold: one line, and nothing that a terminal would take for an order."""
    shown = text.encode("unicode_escape").decode("ascii") if not (text.isascii() and text.isprintable()) else text
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


def _is_part(part: str) -> bool:
    if part.isdecimal() and part.isascii():
        return part == str(int(part)) and len(part) < 10
    return is_plain(part) and part not in _OF_MODULES and not part.startswith("_")


def _parents(key: str) -> list[str]:
    parts = key.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
