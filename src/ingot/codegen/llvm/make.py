"""LLVM itself: from its IR to object files, in this process, or as a worker process that is asked through pipes.

A worker first sends `facts`, then answers requests. It imports nothing of ingot: it is ready before there is anything
to compile.
"""

from __future__ import annotations

import marshal
import os
import sys
from functools import cache
from types import ModuleType
from typing import IO, Any, Literal, TypeAlias


class _Folder(str):
    """A folder as llvmlite reads it: the path of a file in it, which is as good as a context."""

    def __truediv__(self, name: str) -> _Folder:
        return _Folder(os.path.join(self, name))

    def __enter__(self) -> str:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _leave_out_unused() -> None:
    """Put empty modules in the place of two that llvmlite's binding imports, and a worker never uses.

    They are half of the time until it is ready: `importlib.resources`, for the path of a library that is beside the
    binding, and `llvmlite.ir`, for the classes of types.
    """
    import llvmlite

    resources: Any = ModuleType("importlib.resources")
    resources.files = lambda package: _Folder(os.path.dirname(sys.modules[package].__file__ or ""))
    resources.as_file = lambda folder: folder
    types: Any = ModuleType("llvmlite.ir")
    types.__getattr__ = lambda _: None
    llvmlite.ir = types
    sys.modules.update({"importlib.resources": resources, "llvmlite.ir": types})


if __name__ == "__main__":
    sys.path.append(sys.argv[1])  # where llvmlite is: it is started without the packages of others
    _leave_out_unused()

try:
    import llvmlite.binding as llvm
except Exception:
    if __name__ != "__main__":
        raise
    for name in [name for name in sys.modules if name.startswith(("llvmlite", "importlib.resources"))]:
        del sys.modules[name]  # another version of llvmlite uses more of them
    import llvmlite.binding as llvm

Facts: TypeAlias = tuple[str, str, str, tuple[str, ...]]
"""Of this processor: its triple, its name, all its features as LLVM takes them, and those that it has."""
Effort: TypeAlias = Literal["rough", "draft", "full"]
"""How well to compile: a draft takes a third of the time, and runs up to twice as long; a rough one takes a fifth, and
runs five times as long. The results are the same to the bit."""
Request: TypeAlias = tuple[str, str, str, str, bool, Effort]
"""A module, the triple, the name and the features of a processor, whether to emit position-independent code, and how
well to compile it."""
Answer: TypeAlias = tuple[bytes, tuple[str, ...]]
"""An object file, or PTX for a GPU, and the names of the functions in it."""

_PASSES = ("sroa", "loop_rotate", "new_gvn", "instruction_combine", "simplify_cfg")
"""The passes that pay for code that is vectorised already: half the time of LLVM's own list, and the same speed."""

_DRAFT_PASSES = ("sroa",)
"""The pass that makes a draft half as slow, and takes next to no time."""

_ALLOCATION = "-optimize-regalloc"
"""LLVM's option for the register allocator: without it, a module that is not optimised has all values in memory at the
end of every block, the sums of a product among them."""

_IS_WORKER = __name__ == "__main__"
"""Whether nobody else uses LLVM in this process, so that its options may change."""

_ENDLESS = ("instruction_combine",)
"""It narrows comparisons of float32 to float16; for WebAssembly LLVM 22 never ends on vectors of that."""


@cache
def facts() -> Facts:
    """What LLVM knows of this processor; it can compile for it from then on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for calls of the system
    features = llvm.get_host_cpu_features()
    has = tuple(sorted(name for name, there in features.items() if there))
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features.flatten(), has


@cache
def _foreign() -> None:
    """Initialise LLVM for all machines it knows; inline assembly works on this machine alone."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def object_code(request: Request) -> Answer:
    """The object file of a module; RuntimeError if LLVM refuses it."""
    with llvm.create_context() as context:
        module, machine = _optimised(request, context)
        with module:
            is_ptx = request[1].startswith("nvptx")  # which a driver compiles on
            code = machine.emit_assembly(module).encode() if is_ptx else bytes(machine.emit_object(module))
            return code, tuple(function.name for function in module.functions if not function.is_declaration)


def assembly(request: Request) -> str:
    """The assembly of a module."""
    with llvm.create_context() as context:
        module, machine = _optimised(request, context)
        with module:
            return str(machine.emit_assembly(module))


def _optimised(request: Request, context: Any) -> tuple[Any, Any]:
    """A module after the passes, and the target machine to emit it with."""
    text, triple, cpu, features, anywhere, effort = request
    if triple.split("-")[0] != facts()[0].split("-")[0]:
        _foreign()
    llvm.set_option("ingot", f"{_ALLOCATION}={int(effort != 'rough' or not _IS_WORKER)}")
    machine = _shared_machine(triple, cpu, features, anywhere, effort)
    module = llvm.parse_assembly(text, context)
    if not triple.startswith("x86_64"):  # where what LLVM assumes without it leads to the same code
        module.data_layout = str(machine.target_data)
    if triple.startswith("nvptx"):
        _optimise_for_gpu(module, machine)
        return module, machine
    endless = triple.startswith("wasm") and " half" in text
    passes = _PASSES if effort == "full" else _DRAFT_PASSES
    optimise(module, machine, tuple(name for name in passes if not endless or name not in _ENDLESS))
    return module, machine


def optimise(module: Any, machine: Any, passes: tuple[str, ...] = _PASSES) -> None:
    """Promote locals to registers, and eliminate common subexpressions."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    manager = llvm.create_new_module_pass_manager()
    for name in passes:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


def _optimise_for_gpu(module: Any, machine: Any) -> None:
    """LLVM's own list of passes, without unrolling and vectorising: what pays of that is done already."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = options.slp_vectorization = options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def machine_for(triple: str, cpu: str, features: str, anywhere: bool, effort: Effort = "full") -> Any:
    """LLVM's target machine for a processor."""
    level = 2 if effort == "full" else 0
    model = {"reloc": "pic", "codemodel": "small"} if anywhere else {}
    if triple.startswith("wasm"):  # its linker knows where everything is
        model = {"reloc": "static", "codemodel": "small"}
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=level, **model)


_shared_machine = cache(machine_for)
"""The same for all modules, one after another: making it is a tenth of the time of a small draft."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more: whether it succeeded, and the result."""
    answer: Any = facts()
    while True:
        marshal.dump(answer, answers)
        answers.flush()
        request = marshal.load(requests)
        try:
            answer = True, object_code(request)
        except RuntimeError as error:
            answer = False, str(error)


def main() -> None:
    """Serve on stdin and what was stdout; what LLVM prints goes to stderr."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for those who ask
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, answers)
    except (EOFError, BrokenPipeError):
        os._exit(0)


if __name__ == "__main__":
    main()
