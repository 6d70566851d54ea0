"""The names of the onnxruntime that is installed: each is here too, or on the list of those that are not."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import inspect, json, sys
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as state

def public(owner):
    return sorted(n for n in dir(owner) if not n.startswith("_") and not inspect.ismodule(getattr(owner, n, None)))

classes = {n: getattr(ort, n) for n in public(ort) if inspect.isclass(getattr(ort, n))}
names = {"onnxruntime": public(ort), "state": public(state)}
names.update({n: public(c) for n, c in classes.items() if not hasattr(c, "__members__")})
names.update({n: sorted(c.__members__) for n, c in classes.items() if hasattr(c, "__members__")})
json.dump(names, sys.stdout)
"""
ABSENT = {
    "onnxruntime": {"OrtEpContextData", "OrtEpContextDataBuffer", "OrtSyncStream", "import_capi_exception"},
    "state": {"OrtEpContextData", "OrtEpContextDataBuffer", "OrtSyncStream", "SessionObjectInitializer"}
    | {"get_all_operator_schema", "get_all_opkernel_def", "get_registered_ep_kernel_defs", "get_session_initializer"}
    | {"pack_fp4_weights_for_cuda_moe_gemm", "quantize_qdq_matmul_2bits"},
}
INSTANCE = {"ModelMetadata", "NodeArg", "OrtArenaCfg", "OrtMemoryInfo", "OrtEpDevice", "OrtHardwareDevice"}
"""Classes whose names are fields of instances here: tests of their own look at them."""


def names(*runtime: str) -> dict[str, set[str]]:
    done = subprocess.run([sys.executable, *runtime], input=SCRIPT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {owner: set(found) for owner, found in json.loads(done.stdout).items()}


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_no_public_name_is_missing_unawares() -> None:
    real = names("-")
    ours = names("-c", f"import ingot.compat; ingot.compat.install(); exec({SCRIPT!r})")
    missing = {
        owner: found - ours.get(owner, set())
        for owner, found in real.items()
        if owner not in INSTANCE and owner not in ABSENT["onnxruntime"]
    }
    assert {owner: found for owner, found in missing.items() if found} == ABSENT
