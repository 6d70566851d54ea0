"""`python -m ingot.compat program.py ...`: run a Python program with ingot's onnxruntime in place of the real one.

`python -m ingot.compat -m module ...` runs a module; `python -m ingot.compat -- command ...` a Python command of this
environment, such as one that pip installed.
"""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path

from ingot.compat import install

_USAGE = "usage: python -m ingot.compat (PROGRAM.py | -m MODULE | -- COMMAND) [ARGUMENT ...]"


def main(arguments: list[str]) -> int:
    """Run what the arguments name; 2 if they name nothing that can be run, else the program decides."""
    match arguments:
        case ["-m", module, *rest]:
            install()
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["--", command, *rest] if Path(command).name.startswith("python"):
            return main(rest)
        case ["--", command, *rest]:
            path = shutil.which(command)
            if path is None:
                return _refuse(f"there is no command '{command}'")
            if not _is_python(path):
                return _refuse(f"{path} is not a Python program, so its onnxruntime cannot be replaced")
            _run_file(path, rest)
        case [program, *rest] if not program.startswith("-"):
            _run_file(program, rest)
        case _:
            return _refuse(_USAGE)
    return 0


def _run_file(path: str, arguments: list[str]) -> None:
    """Run a program as Python itself would: its arguments are its own, and it finds the modules beside it."""
    install()
    sys.argv = [path, *arguments]
    sys.path[0] = str(Path(path).resolve().parent)
    runpy.run_path(path, run_name="__main__")


def _is_python(path: str) -> bool:
    with open(path, "rb") as file:
        start = file.readline(256)
        following = file.readline(256)
    return path.endswith(".py") or (start.startswith(b"#!") and b"python" in start + following)


def _refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
