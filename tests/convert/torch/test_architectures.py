"""Three architectures of transformers with random weights: the batch open, and the same in onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

from benchmarks.torch_models import MODELS  # noqa: E402


@pytest.mark.parametrize("name", ["resnet", "bert", "llama"])
def test_an_architecture_verifies_and_agrees_with_onnxruntime_at_opset_18(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    case = MODELS[name]()
    made = ingot.convert(case.module, case.inputs, dynamic_axes=case.axes, opset_version=18)
    assert "batch" in str(made.outputs[0].type)
    session = runtime.InferenceSession(ingot.encode(made), providers=["CPUExecutionProvider"])
    feeds: dict[str, Any] = {i.name: case.inputs[i.name].numpy() for i in session.get_inputs()}
    with torch.no_grad():
        wanted = case.module(**case.inputs)[0]
    np.testing.assert_allclose(session.run(None, feeds)[0], wanted.numpy(), rtol=1e-3, atol=1e-4)
