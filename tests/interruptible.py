"""Programs that Ctrl-C reaches even if these tests run where it is ignored, as in a job in the background."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_HEED = """import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])"""


def interruptible(arguments: Sequence[str]) -> list[str]:
    """A command line that runs another with the system's default for SIGINT, in the same process."""
    return [sys.executable, "-c", _HEED, *arguments]
