"""`ingot dump`: each stage of a model as text, on stdout or in files."""

from __future__ import annotations

from pathlib import Path

import pytest

import ingot
from cli.samples import Run
from ingot.cli.dump import STAGES
from ingot.tools.inspect import stages


@pytest.mark.parametrize(
    ("stage", "shown"),
    [
        ("typed", "float[batch, 32] sum"),
        ("optimised", "y = Relu"),
        ("prim", "product: float32[batch, 32] = contract(x, W) mk,kn->mn"),
        ("loops", "product m m<batch, n n<32:"),
        ("scheduled", "in tiles of "),
        ("llvm", "define i64 @"),
        ("asm", ".cfi_startproc"),
        ("plan", "returned"),
    ],
)
def test_each_stage_is_shown(run: Run, model_file: Path, stage: str, shown: str) -> None:
    result = run("dump", str(model_file), "--at", stage)
    assert result.exit_code == 0, result.stderr
    assert shown in result.stdout


def test_code_is_shown_for_another_machine(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "--at", "asm", "--target", "aarch64")
    assert result.exit_code == 0, result.stderr
    assert "fmla\tv" in result.stdout


def test_object_files_are_written_for_another_machine(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "--at", "objects", "--target", "wasm32", "-o", "code")
    assert result.exit_code == 0, result.stderr
    assert [path.read_bytes()[:4] for path in Path("code/objects").iterdir()] == [b"\0asm"]


def test_object_files_need_a_folder(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "--at", "objects")
    assert result.exit_code == 2
    assert "objects are files: say where to, -o FOLDER" in result.stderr


def test_an_unknown_machine_is_refused_with_those_there_are(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "--at", "asm", "--target", "arm")
    assert result.exit_code == 1
    assert "there is no target 'arm'; there are x86-64-v2" in result.stderr


def test_the_list_of_stages_is_the_same_everywhere() -> None:
    assert STAGES == stages.STAGES


@pytest.mark.parametrize("stage", ["typed", "specialised", "optimised"])
def test_the_text_of_a_model_is_a_model(run: Run, stage: str) -> None:
    Path("two.onnxtxt").write_text(TWO, "utf-8")
    found = ingot.parse_model(run("dump", "two.onnxtxt", "--at", stage).stdout)
    assert [node.op_type for node in found.graph] == ["Exp", "Softmax"]
    assert found.opset == 28


def test_kernels_say_what_they_are_for(run: Run, model_file: Path) -> None:
    for stage, sign in (("loops", "#"), ("llvm", ";"), ("asm", "#")):
        first = run("dump", str(model_file), "--at", stage).stdout.splitlines()[0]
        assert first.startswith(sign)
        assert first.endswith("MatMul+Add+Relu, stores 'y' float32[batch, 32]: an output of the model")


def test_one_kernel_can_be_asked_for(run: Run) -> None:
    Path("two.onnxtxt").write_text(TWO, "utf-8")
    whole = run("dump", "two.onnxtxt", "--at", "loops").stdout
    names = [line.split()[1].partition("(")[0] for line in whole.splitlines() if line.startswith("kernel ")]
    assert len(names) == 2
    for name in names:
        alone = run("dump", "two.onnxtxt", "--at", "loops", "--kernel", name).stdout
        assert alone.strip() in whole
        assert alone.count("kernel ") == 1


def test_a_kernel_that_is_not_there_is_named(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "--at", "asm", "--kernel", "k999")
    assert result.exit_code == 1
    assert "the model has no kernel 'k999'" in result.stderr


def test_without_a_stage_and_a_folder_it_asks(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file))
    assert result.exit_code == 2
    assert "--at typed|specialised|optimised|" in result.stderr


def test_a_folder_takes_every_stage(run: Run, model_file: Path) -> None:
    result = run("dump", str(model_file), "-o", "stages")
    assert result.exit_code == 0, result.stderr
    found = sorted(str(path.relative_to("stages")) for path in Path("stages").rglob("*") if path.is_file())
    (kernel,) = [Path(name).stem for name in found if name.endswith(".s")]
    assert found == sorted(
        [
            f"asm/{kernel}.s",
            f"llvm/{kernel}.ll",
            *(
                "loops.txt",
                "optimised.onnxtxt",
                "plan.txt",
                "prim.txt",
                "scheduled.txt",
                "specialised.onnxtxt",
                "typed.onnxtxt",
            ),
        ]
    )
    assert Path("stages/prim.txt").read_text("utf-8") == run("dump", str(model_file), "--at", "prim").stdout


def test_the_plan_is_for_the_sizes_given(run: Run, model_file: Path) -> None:
    plan = run("dump", str(model_file), "--at", "plan", "--shape", "batch=3", "--threads", "1").stdout
    assert plan.splitlines()[:2] == ["kernels 1, calls 0, run by one thread", "sizes batch = 3"]
    assert f"  {3 * 32 * 4}  returned  0 to 0" in plan


def test_calls_of_the_reference_are_steps(run: Run) -> None:
    Path("call.onnxtxt").write_text(CALL, "utf-8")
    for stage in ("loops", "plan"):
        assert "Unique" in run("dump", "call.onnxtxt", "--at", stage).stdout
    plan = run("dump", "call.onnxtxt", "--at", "plan").stdout
    assert "which are statically unknown" in plan


def test_bodies_that_are_compiled_by_themselves_follow(run: Run) -> None:
    Path("grow.onnxtxt").write_text(GROW, "utf-8")
    for stage in ("prim", "loops", "scheduled", "plan"):
        page = run("dump", "grow.onnxtxt", "--at", stage).stdout
        assert "\n# b1: body of Loop 'y'\n" in page
    said = "Loop 'y': a state whose size changes; compiled: body b1"
    assert f"call {said}\n" in run("dump", "grow.onnxtxt", "--at", "loops").stdout
    assert f"  0  call  {said}\n" in run("dump", "grow.onnxtxt", "--at", "plan").stdout
    for stage in ("llvm", "asm"):
        assert "b1k1: Concat, stores 't'" in run("dump", "grow.onnxtxt", "--at", stage, "--kernel", "b1k1").stdout


GROW = """<ir_version: 10, opset_import: ["" : 20]>
g (float[n] x, int64 m) => (float[k] y) {
  y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
    on = Identity (go)
    t = Concat <axis = 0> (s, s)
  }> (m, , x)
}"""

TWO = """<ir_version: 10, opset_import: ["" : 20]>
g (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) { y = Exp (x)  z = Softmax (y) }"""

CALL = """<ir_version: 10, opset_import: ["" : 20]>
g (float[n] x) => (float[m] z) {
  e = Exp (x)  s = Cast <to = 8> (e)  u = Unique (s)  y = Cast <to = 1> (u)  z = Neg (y)
}"""
