"""Branches, loops, sequences and defaults in modules."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

import ingot

pytestmark = pytest.mark.filterwarnings("ignore")


def module(text: str) -> object:
    return ingot.to_torch(ingot.parse_model(f'<ir_version: 10, opset_import: ["": 22]>\n{text}'))


def test_a_branch_on_a_size_is_one_on_a_size() -> None:
    made = module(
        """g (float[n, m] x) => (float[a, b] y) {
            shape = Shape(x)
            zero = Constant<value_int: int = 0>()
            one = Constant<value_int: int = 1>()
            first = Gather(shape, zero)
            single = Equal(first, one)
            y = If(single) <then_branch = t () => (float[n, m] p) { p = Neg(x) },
                            else_branch = e () => (float[n, m] q) { q = Abs(x) }>
        }"""
    )
    assert "if x.shape[0] == 1:" in made.source  # type: ignore[attr-defined]
    assert made(torch.ones(1, 2)).tolist() == [[-1, -1]]  # type: ignore[operator]
    assert made(-torch.ones(2, 1)).tolist() == [[1], [1]]  # type: ignore[operator]


def test_a_loop_is_a_loop_and_carries_gradients() -> None:
    made = module(
        """g (float[2] x, int64 n) => (float[2] y, float[k, 2] all) {
            going = Constant<value: tensor = bool {1}>()
            y, all = Loop(n, going, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[2] s) {
                d = Identity(c)
                w = Mul(v, v)
                s = Identity(w)
            }>
        }"""
    )
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y, every = made(x, torch.tensor(3))  # type: ignore[operator]
    assert y.tolist() == [256.0, 6561.0]
    assert every.shape == (3, 2)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8 * 2.0**7, 8 * 3.0**7]
    assert made(x, torch.tensor(0))[1].shape == (0, 2)  # type: ignore[operator]


def test_a_default_may_be_left_out() -> None:
    made = module("g (float[2] x, float[2] w = {1.0, 2.0}) => (float[2] y) { y = Add(x, w) }")
    assert made(torch.zeros(2)).tolist() == [1.0, 2.0]  # type: ignore[operator]
    assert made(torch.zeros(2), torch.ones(2)).tolist() == [1.0, 1.0]  # type: ignore[operator]


def test_loops_in_loops_deeper_than_python_takes_are_refused() -> None:
    inner = "w0 = Neg(v)"
    for depth in range(25):
        head = f"(int64 i{depth}, bool c{depth}, float[2] v{depth}) => (bool d{depth}, float[2] w{depth})"
        body = f"b{depth} {head} {{ d{depth} = Identity(c{depth})\n {inner} }}"
        inner = f"w{depth + 1} = Loop(n, , v) <body = {body}>"
    with pytest.raises(ingot.ConvertError, match="deeper in branches and loops than Python takes"):
        module(f"g (float[2] v, int64 n) => (float[2] w25) {{ {inner} }}")
