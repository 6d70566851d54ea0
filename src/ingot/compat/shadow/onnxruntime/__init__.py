"""The package `onnxruntime` of a process that has the directory above on its path: ingot's.

Where ingot cannot be imported (a child process of another environment) or the environment variable INGOT_COMPAT is 0,
it is the one that is installed, as if the directory were not there.
"""

import importlib.util as _util
import os as _os
import sys as _sys

_switched_off = _os.environ.get("INGOT_COMPAT") == "0"
if _switched_off or _util.find_spec("ingot") is None:
    _directory = _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))
    _sys.path[:] = [_entry for _entry in _sys.path if _os.path.abspath(_entry) != _directory]
    del _sys.modules[__name__]
    __import__(__name__)  # the import statement gives what is in sys.modules when this module ends
else:
    from ingot.compat import install as _install
    from ingot.compat.onnxruntime import *  # noqa: F403
    from ingot.compat.onnxruntime import __getattr__, __version__  # noqa: F401

    _install()

    for _module in ("_pybind_state", "onnxruntime_inference_collection"):  # which programs use without an import
        __import__(f"{__name__}.capi.{_module}")
