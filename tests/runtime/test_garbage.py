"""Collection of garbage is paused while models are compiled, and never for longer."""

from __future__ import annotations

import gc
import os
import threading
import warnings

import pytest

from ingot.runtime.garbage import uncollected


def test_collection_is_paused_until_the_last_is_done() -> None:
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
        inside: list[bool] = []
        thread = threading.Thread(target=lambda: inside.append(_paused_elsewhere()))
        thread.start()
        thread.join()
        assert inside == [True]
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def _paused_elsewhere() -> bool:
    with uncollected():
        return not gc.isenabled()


def test_a_program_without_collection_stays_without() -> None:
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_collects() -> None:
    with warnings.catch_warnings(), uncollected():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
