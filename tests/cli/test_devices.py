"""`ingot devices` lists what a model can run on."""

from __future__ import annotations

import json

import pytest

from cli.samples import Run


def test_the_processor_is_listed_and_the_reason_for_no_gpu(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ingot.providers.cuda.driver import open_driver

    open_driver.cache_clear()
    monkeypatch.setattr("ingot.providers.cuda.driver._LIBRARIES", ("libcuda_of_nobody.so",))
    result = run("devices")
    assert result.stdout.startswith("cpu ")
    assert "no GPU: there is no NVIDIA driver here" in result.stderr
    listed = json.loads(run("devices", "--json").stdout)
    assert [device["provider"] for device in listed["devices"]] == ["cpu"]
    assert "no NVIDIA driver" in listed["without_gpu_because"]
    open_driver.cache_clear()


def test_gpus_are_listed_by_the_name_that_a_session_takes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ingot.providers.cuda.driver import Driver
    from providers.emulated import Library

    two = Driver(Library(devices=2))
    monkeypatch.setattr("ingot.providers.cuda.driver.open_driver", lambda: two)
    lines = run("devices").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["cpu", "cuda:0", "cuda:1"]
    assert "4 multiprocessors, 1.0 GiB, compute capability 9.0" in lines[1]
