# mypy: ignore-errors
"""How digits.onnx was made: a small convolutional network trained on scikit-learn's 8×8 digits.

Needs torch and scikit-learn, which ingot itself does not: pip install torch scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from ingot import Float32, Model, build, op, save

OPSET = 20


def train() -> tuple[list[np.ndarray], float]:
    """The weights of a trained network, and the share of held-out digits it gets right."""
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    held_out = torch.arange(len(labels)) % 5 == 0
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(60):
        order = torch.randperm(len(labels))
        order = order[~held_out[order]]
        for batch in order.split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        right = (network(images[held_out]).argmax(1) == labels[held_out]).float().mean().item()
    return [parameter.detach().numpy() for parameter in network.parameters()], right


def as_model(weights: list[np.ndarray]) -> Model:
    """The network as a model."""
    conv1_weight, conv1_bias, conv2_weight, conv2_bias, dense_weight, dense_bias = weights

    @build(opset=OPSET, outputs=["probabilities"])
    def digits(image: Float32["batch", 1, 8, 8]) -> Float32["batch", 10]:
        """Which digit an 8×8 image of grey levels from 0 to 1 shows."""
        x = op.Relu(op.Conv(image, conv1_weight, conv1_bias, pads=[1, 1, 1, 1]))
        x = op.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
        x = op.Relu(op.Conv(x, conv2_weight, conv2_bias, pads=[1, 1, 1, 1]))
        x = op.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
        return op.Softmax(op.Gemm(op.Flatten(x), dense_weight, dense_bias, transB=1), axis=1)

    return digits


if __name__ == "__main__":
    weights, right = train()
    model = as_model(weights)
    model.metadata["accuracy"] = f"{right:.3f}"
    model.metadata["data"] = "scikit-learn digits, every fifth held out"
    save(model, Path(__file__).with_name("digits.onnx"))
    print(f"{right:.1%} of the held-out digits are right")
