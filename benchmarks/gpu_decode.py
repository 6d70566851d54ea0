"""A layer of a decoder of 7 billion parameters for one token on a GPU: its time, and the bytes a second that it moves.

    python -m benchmarks.gpu_decode [--layers N] [--check] [--peer]

In float16 and with weights in 4 bits by blocks of 32. What is counted as moved is the weights and the cache, once. It
needs a GPU; `--peer` measures PyTorch in float16 too, eagerly and compiled.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import ingot
from benchmarks.gpu import PROVIDERS, Timer
from ingot import Session
from ingot.ir.tensor import Tensor

HIDDEN, HEADS, KEY_HEADS, DEPTH, GATED, PAST = 4096, 32, 8, 128, 14336, 1000
BLOCK = 32
_MOST_ERROR = 1e-2

_HEAD = '<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]>'
_PRODUCTS = {
    "q": (HIDDEN, HEADS * DEPTH),
    "k": (HIDDEN, KEY_HEADS * DEPTH),
    "v": (HIDDEN, KEY_HEADS * DEPTH),
    "o": (HEADS * DEPTH, HIDDEN),
    "gate": (HIDDEN, GATED),
    "up": (HIDDEN, GATED),
    "down": (GATED, HIDDEN),
}


def layers_model(count: int, is_coded: bool) -> tuple[ingot.Model, int]:
    """So many layers, and the bytes that a token moves: of weights, and of keys and values that are known."""
    constants: dict[str, Any] = {}
    inputs = [f"float16[1, 1, {HIDDEN}] x0", "int64[1, 1] position"]
    outputs, body, moved = [], [], 0
    angles = np.outer(np.arange(2 * PAST), 10000.0 ** (-np.arange(DEPTH // 2) / (DEPTH // 2)))
    constants["cosine"], constants["sine"] = (np.cos(angles).astype(np.float16), np.sin(angles).astype(np.float16))
    random = np.random.default_rng(0)
    noise = random.standard_normal(1 << 20, np.float32)

    def product(name: str, kind: str, source: str) -> str:
        depth, columns = _PRODUCTS[kind]
        if not is_coded:
            weights = np.resize(noise, (depth, columns)) / np.float32(np.sqrt(depth))
            constants[f"{name}_w"] = weights.astype(np.float16)
            return f"{name} = MatMul ({source}, {name}_w)"
        codes = np.resize(random.integers(0, 256, 1 << 20).astype(np.uint8), (columns, depth // BLOCK, BLOCK // 2))
        constants[f"{name}_w"] = codes
        constants[f"{name}_s"] = np.full((columns, depth // BLOCK), 0.2 / np.sqrt(depth), np.float16)
        attributes = f"K = {depth}, N = {columns}, bits = 4, block_size = {BLOCK}"
        return f"{name} = com.microsoft.MatMulNBits <{attributes}> ({source}, {name}_w, {name}_s)"

    for number in range(count):
        for name in ("before", "after"):
            constants[f"{name}{number}"] = random.uniform(0.5, 1.5, HIDDEN).astype(np.float16)
        cache = f"float16[1, {KEY_HEADS}, {PAST}, {DEPTH}]"
        inputs += [f"{cache} keys{number}", f"{cache} values{number}"]
        n = number
        body += [
            f"a{n} = RMSNormalization (x{n}, before{n})",
            *(product(f"{kind}{n}", kind, f"a{n}") for kind in "qkv"),
            *(
                f"r{kind}{n} = RotaryEmbedding <num_heads = {heads}> ({kind}{n}, cosine, sine, position)"
                for kind, heads in (("q", HEADS), ("k", KEY_HEADS))
            ),
            f"t{n}, nk{n}, nv{n} = Attention <q_num_heads = {HEADS}, kv_num_heads = {KEY_HEADS}> "
            f"(rq{n}, rk{n}, v{n}, , keys{n}, values{n})",
            product(f"o{n}", "o", f"t{n}"),
            f"h{n} = Add (x{n}, o{n})",
            f"b{n} = RMSNormalization (h{n}, after{n})",
            product(f"gate{n}", "gate", f"b{n}"),
            product(f"up{n}", "up", f"b{n}"),
            f"s{n} = Sigmoid (gate{n}) m{n} = Mul (gate{n}, s{n}) g{n} = Mul (m{n}, up{n})",
            product(f"down{n}", "down", f"g{n}"),
            f"x{n + 1} = Add (h{n}, down{n})",
        ]
        outputs += [f"nk{n}", f"nv{n}"]
        moved += 2 * 2 * KEY_HEADS * PAST * DEPTH
    inputs += [f"{_kind(array)}[{', '.join(map(str, array.shape))}] {name}" for name, array in constants.items()]
    outputs.insert(0, f"x{count}")
    model = ingot.parse_model(f"{_HEAD} g ({', '.join(inputs)}) => ({', '.join(outputs)}) {{ {' '.join(body)} }}")
    for value in model.graph.inputs:
        if value.name in constants:
            value.constant = Tensor(constants[value.name], name=value.name)
            model.graph.initializers.add(value)
    return model, moved + sum(array.nbytes for name, array in constants.items() if name[-2:] in ("_w", "_s"))


def _kind(array: Any) -> str:
    return {"float16": "float16", "uint8": "uint8"}[str(array.dtype)]


def feeds_of(session: Session) -> dict[str, Any]:
    random = np.random.default_rng(1)
    feeds: dict[str, Any] = {"position": np.full((1, 1), PAST, np.int64)}
    for name, declared in session.inputs.items():
        kind: Any = declared
        if name not in feeds:
            feeds[name] = random.standard_normal(kind.shape, np.float32).astype(np.float16)
    return feeds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--check", action="store_true", help="compare one layer with the reference")
    parser.add_argument("--peer", action="store_true", help="measure PyTorch too")
    options = parser.parse_args()
    text, wrong = table(options.layers, check=options.check)
    print(text)
    if options.peer:
        _peer(Timer(), options.layers)
    return int(wrong > 0)


def table(layers: int, *, check: bool) -> tuple[str, int]:
    """The times of so many layers, and how many of them, compared one by one if `check`, are wrong."""
    timer, wrong = Timer(), 0
    lines = ["| weights | layers | µs a layer | TB/s | kernels | calls | error |", "|---|---|---|---|---|---|---|"]
    for is_coded in (False, True):
        model, moved = layers_model(layers, is_coded)
        session = Session(model, providers=PROVIDERS, fallback=False)
        us = timer.on_device(session, feeds_of(session))  # or the caches of all layers cross to the host and back
        compiled = session.compiled
        assert compiled is not None
        label = "4 bits" if is_coded else "float16"
        steps = len(compiled.scheduled.steps)
        error = _error(is_coded) if check else None
        wrong += error is not None and not error < _MOST_ERROR
        lines.append(
            f"| {label} | {layers} | {us / layers:.1f} | {moved / us / 1e6:.2f} | {steps} "
            f"| {len(compiled.program.calls)} | {'' if error is None else f'{error:.1e}'} |"
        )
    return "\n".join(lines), wrong


def _error(is_coded: bool) -> float:
    """How far what one layer computes is from what it computes on the processor."""
    model, _ = layers_model(1, is_coded)
    ours = Session(model, providers=PROVIDERS, fallback=False)
    theirs = Session(model, providers=("cpu", "reference"))
    feeds = feeds_of(ours)
    result, expected = (session.run(None, feeds)[0].astype(np.float64) for session in (ours, theirs))
    return float(np.linalg.norm(result - expected) / np.linalg.norm(expected))


def _peer(timer: Timer, layers: int) -> None:
    torch = timer.torch
    f = torch.nn.functional

    class Layer(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            for name, (depth, columns) in _PRODUCTS.items():
                setattr(self, name, torch.nn.Linear(depth, columns, bias=False))
            self.before, self.after = torch.nn.RMSNorm(HIDDEN), torch.nn.RMSNorm(HIDDEN)

        def forward(self, x: Any, keys: Any, values: Any, cosine: Any, sine: Any) -> Any:
            def turned(y: Any, heads: int) -> Any:
                y = y.view(1, 1, heads, DEPTH).transpose(1, 2)
                low, high = y.chunk(2, -1)
                return torch.cat((low * cosine - high * sine, low * sine + high * cosine), -1)

            a = self.before(x)
            q, k = turned(self.q(a), HEADS), turned(self.k(a), KEY_HEADS)
            v = self.v(a).view(1, 1, KEY_HEADS, DEPTH).transpose(1, 2)
            keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
            t = f.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
            h = x + self.o(t.transpose(1, 2).reshape(1, 1, -1))
            b = self.after(h)
            return h + self.down(f.silu(self.gate(b)) * self.up(b)), keys, values

    own = [Layer().half().cuda().eval() for _ in range(layers)]
    cache = [[torch.randn(1, KEY_HEADS, PAST, DEPTH).half().cuda() for _ in range(2)] for _ in range(layers)]
    x = torch.randn(1, 1, HIDDEN).half().cuda()
    cosine, sine = (torch.randn(DEPTH // 2).half().cuda() for _ in range(2))

    def run(x: Any) -> Any:
        kept = []
        for layer, (keys, values) in zip(own, cache, strict=True):
            x, *new = layer(x, keys, values, cosine, sine)
            kept += new
        return x, kept

    print(f"PyTorch, eager, in a graph: {timer.torchs(lambda: run(x)) / layers:.1f} µs a layer", flush=True)
    compiled = torch.compile(run, dynamic=False, options={"triton.cudagraphs": False})
    print(f"PyTorch, compiled, in a graph: {timer.torchs(lambda: compiled(x)) / layers:.1f} µs a layer", flush=True)


if __name__ == "__main__":
    sys.exit(main())
