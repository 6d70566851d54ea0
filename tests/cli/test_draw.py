from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import ingot
from cli.samples import Run
from ingot.view import png

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_has_the_operators_weights_and_sizes_of_a_model(run: Run, model_file: Path) -> None:
    result = run("draw", model_file.name, "-o", "picture.svg")
    assert result.exit_code == 0
    assert "3 nodes" in result.stderr
    texts = [element.text for element in ET.parse("picture.svg").iter(f"{SVG}text")]
    assert {"x", "MatMul", "⟨32 × 32⟩", "Add", "Relu", "y", "batch × 32"} <= set(texts)


def test_a_picture_goes_to_stdout(run: Run, model_file: Path) -> None:
    result = run("draw", model_file.name, "--dark", "--open", "all")
    assert result.exit_code == 0
    ET.fromstring(result.stdout)


def test_names_with_markup_are_text_in_a_picture(run: Run) -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    Path("model.onnxtxt").write_text(text)
    assert run("text", "model.onnxtxt", "-o", "model.onnx").exit_code == 0
    model = ingot.load("model.onnx")
    model.graph.inputs[0].name = '<script>alert("x")</script>&\u0007'
    ingot.save(model, "model.onnx")
    ET.fromstring(run("draw", "model.onnx").stdout)


def test_other_kinds_of_files_are_refused(run: Run, model_file: Path) -> None:
    result = run("draw", model_file.name, "-o", "picture.jpg")
    assert result.exit_code == 2
    assert ".svg or .png" in result.stderr


def test_a_png_needs_a_browser(run: Run, model_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "browser", lambda: None)
    result = run("draw", model_file.name, "-o", "picture.png")
    assert result.exit_code != 0
    assert "Chromium or Chrome" in result.stderr
    assert "SVG" in result.stderr


def test_a_png_is_drawn_by_a_browser(run: Run, model_file: Path) -> None:
    if png.browser() is None:
        pytest.skip("no browser is installed")
    assert run("draw", model_file.name, "-o", "picture.png").exit_code == 0
    assert Path("picture.png").read_bytes().startswith(b"\x89PNG")
