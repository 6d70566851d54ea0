"""`python -m ingot.compat program.py ...`: run a Python program with ingot's onnxruntime in place of the real one.

`python -m ingot.compat -m module ...` runs a module, `-c "..."` a line of Python, and `-- command ...` a command: one
in Python, such as pip installs, in this process, any other so that the Python programs it starts have ingot's too.
`python -m ingot.compat --path` prints the directory that gives it to a process that has it in PYTHONPATH.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
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
        case ["-c", code, *rest]:
            install()
            sys.argv = ["-c", *rest]
            main_module = ModuleType("__main__")
            sys.modules["__main__"] = main_module
            exec(compile(code, "<string>", "exec"), vars(main_module))
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
            install()
            if not _is_python(path):
                return subprocess.run([path, *rest], check=False).returncode
            _run_file(path, rest)
        case [program, *rest] if not program.startswith("-"):
            _run_file(program, rest)
        case _:
            return _refuse(_USAGE.rstrip())
    return 0


def _run_file(path: str, arguments: list[str]) -> None:
    """Run a program as Python itself would: its arguments are its own, and it finds the modules beside it."""
    sys.path[0] = str(Path(path).resolve().parent)
    install()
    sys.argv = [path, *arguments]
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
