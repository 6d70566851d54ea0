"""Imports point only upward: a module may import what stands above it in this list, and nothing below."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ingot
from ingot.cache import fingerprint

LAYERS = [
    *("version", "dataclass", "errors", "dtypes", "dims", "ir", "format", "builder", "prim", "ops", "infer", "queries"),
    *("versions", "repair", "passes", "engine_support", "lower", "loops", "fuse", "schedule", "cache", "codegen"),
    *("runtime", "providers", "prepare", "compile", "warm_start", "keep_plan", "session_model", "variants"),
    *("typed_plans", "background", "session_plans", "deploy", "node_sessions", "session"),
    *("feeds", "quantise", "pruning", "convert", "compat", "source", "difference", "tools", "view", "cli"),
]
ROOT = Path(ingot.__file__).parent
TOP = ("__init__.py", "__main__.py")
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.name not in TOP)


def layer(module: str) -> str:
    return module.split(".")[1]


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, type checking included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            if module == "ingot":
                found.update(f"ingot.{alias.name}" for alias in node.names)
            elif module.startswith("ingot."):
                found.add(module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("ingot."))
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_only_upward(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for module in imports(path):
        assert layer(module) in LAYERS[: LAYERS.index(own) + 1], f"{own} imports {module}"


def test_the_fingerprint_is_of_all_that_a_session_may_import() -> None:
    assert {*LAYERS[LAYERS.index("session") + 1 :], "__pycache__"} == set(fingerprint._UNUSED)


def test_importing_ingot_imports_nothing_that_is_not_needed() -> None:
    script = "import sys, ingot; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"llvmlite", "rich", "click", "onnx", "google", "torch", "scipy", "sympy", "hypothesis", "asyncio"}
    assert not heavy & set(loaded)
    assert not {"shutil", "secrets", "tempfile", "random"} & set(loaded)
