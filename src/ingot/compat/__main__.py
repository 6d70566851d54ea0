"""`python -m ingot.compat program.py ...`: run a Python program with ingot's onnxruntime in place of the real one.

`python -m ingot.compat -m module ...` runs a module, `-c "..."` a line of Python, and `-- command ...` a command: one
of this Python, such as pip installs, in this process, any other so that the Python programs it starts have ingot's too.
`python -m ingot.compat --path` prints the directory that gives it to a process that has it in PYTHONPATH.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ingot.compat import install
from ingot.compat.finder import SHADOW

_USAGE = """\
usage: python -m ingot.compat (PROGRAM.py | -m MODULE | -c CODE | -- COMMAND) [ARGUMENT ...]
       PYTHONPATH=$(python -m ingot.compat --path) COMMAND [ARGUMENT ...]
"""


def main(arguments: list[str]) -> int:
    """Run what the arguments name; 2 if they name nothing that can be run, else the program decides."""
    match arguments:
        case ["--path"]:
            sys.stdout.write(f"{SHADOW}\n")
        case ["-h" | "--help"]:
            sys.stdout.write(_USAGE)
        case ["--", command, *rest]:
            return _run_command(command, rest)
        case _ if _is_understood(arguments):
            return _run(arguments)
        case _:
            return _refuse(_USAGE.rstrip())
    return 0


def _is_understood(arguments: list[str]) -> bool:
    """Whether these arguments of Python name a program that runs in this process."""
    match arguments:
        case ["-c" | "-m", _, *_]:
            return True
        case [program, *_]:
            return not program.startswith("-")
    return False


def _run(arguments: list[str]) -> int:
    """Run in this process what Python would run with these arguments."""
    match arguments:
        case ["-c", code, *rest]:
            install()
            sys.argv = ["-c", *rest]
            main_module = ModuleType("__main__")
            sys.modules["__main__"] = main_module
            exec(compile(code, "<string>", "exec"), vars(main_module))
        case ["-m", module, *rest]:
            install()
            if not _is_there(module):
                return _refuse(f"there is no module '{module}'")
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [program, *rest]:
            if not os.path.exists(program):
                return _refuse(f"there is no file '{program}'")
            sys.path[0] = str(Path(program).resolve().parent)  # as Python does: a program finds the modules beside it
            install()
            sys.argv = [program, *rest]
            runpy.run_path(program, run_name="__main__")
    return 0


def _run_command(command: str, arguments: list[str]) -> int:
    """Run a command in this process if it runs on this Python, else as a process of its own."""
    path = shutil.which(command)
    if path is None:
        return _refuse(f"there is no command '{command}'")
    if _is_this_python(path) and _is_understood(arguments):
        return _run(arguments)
    interpreter = _interpreter(path)
    if interpreter is not None and _is_this_python(interpreter):
        return _run([path, *arguments])
    install()
    return subprocess.run([path, *arguments], check=False).returncode


def _is_this_python(path: str) -> bool:
    """Whether a path is that of the interpreter of this process, under any name in its directory.

    Not its target elsewhere: the `python` of a virtual environment is a link to a Python that has other packages.
    """
    own, other = Path(sys.executable), Path(path)
    try:
        return other.parent.samefile(own.parent) and other.samefile(own)
    except OSError:
        return False


def _interpreter(path: str) -> str | None:
    """The path of a script's interpreter, None if it has none, or one with options.

    Where that path is too long for the first line, pip writes it into the second: `#!/bin/sh`, then
    `'''exec' /long/path/python "$0" "$@"`, which is text for Python and a command for sh.
    """
    with open(path, "rb") as file:
        first = os.fsdecode(file.readline(4096))
        second = os.fsdecode(file.readline(4096))
    if not first.startswith("#!"):
        return sys.executable if path.endswith(".py") else None
    words = first[2:].split()
    if words[:1] == ["/bin/sh"] and second.startswith("'''exec' "):
        name = second.removeprefix("'''exec' ").rpartition(' "$0" "$@"')[0]
        return name.strip().strip('"') or None
    if len(words) == 2 and Path(words[0]).name == "env":
        return shutil.which(words[1])
    return words[0] if len(words) == 1 else None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):  # its package is not there
            return False
        raise


def _refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
