"""Every stage of a model on its way to machine code, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingot.codegen.llvm.compile import assembly_of
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.compile import Artifacts
from ingot.deploy.compiled import kernel_objects
from ingot.ir.model import Model
from ingot.ir.text import to_text
from ingot.loops.ir import BranchStep, Kernel, LoopStep, Step, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel, show_loop
from ingot.prim.show import show, typed
from ingot.prim.tensor import Call, RandomKey, SizeReading, Tensor
from ingot.providers.cpu.code import emit_kernel, link_kernel
from ingot.schedule.target import Target
from ingot.session import Session
from ingot.tools.inspect.bodies import bodies_in, bodies_text
from ingot.tools.inspect.plans import plan_text
from ingot.tools.inspect.titles import operators
from ingot.tools.inspect.trace import Trace, Work

_SHOWN = 16
"""Elements of a tensor in the text of a model."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a stage: a kernel, by its name, or the whole of it, which has none."""

    kernel: str | None
    text: str


class Stages:
    """The stages of the model of a session, which has compiled it."""

    def __init__(
        self,
        session: Session,
        compiled: Artifacts,
        traced: Trace,
        sizes: Mapping[str, int],
        target: Target | None = None,
    ) -> None:
        """`sizes` are the values of named sizes, for the plan; `target` is this machine by default."""
        self._session = session
        self._compiled = compiled
        self._works = {kernel.name: work for kernel, work in traced.kernels.items()}
        self._sizes = sizes
        self._target = target or host()

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels, in order."""
        return list(self._works)

    def objects(self) -> dict[str, bytes]:
        """The object files of kernels, by their names; those that share their code with one before have none."""
        return kernel_objects(self._compiled, self._target)

    def parts(self, stage: str) -> Iterator[Part]:
        """The text of a stage, kernel by kernel where it has kernels."""
        whole: dict[str, Callable[[], str]] = {
            "typed": lambda: _text(self._session.typed.model),
            "specialised": lambda: _text(self._compiled.specialised.model),
            "optimised": self._optimised,
        }
        if stage in whole:
            yield Part(None, whole[stage]())
            return
        for title, compiled in (("", self._compiled), *bodies_in(self._compiled)):
            if title:
                sign = {"llvm": ";", "asm": "#"}.get(stage, "#")
                yield Part(None, f"{sign} {compiled.name}: {title}")
            if stage == "prim":
                yield Part(None, _primitives(compiled))
            elif stage == "plan":
                yield Part(None, plan_text(compiled, self._sizes))
            elif stage in ("loops", "scheduled"):
                steps = compiled.fused.steps if stage == "loops" else compiled.scheduled.steps
                yield from self._shown(compiled, steps)
            else:
                yield from self._code(compiled, stage)

    def _optimised(self) -> str:
        optimised, before = _text(self._compiled.optimised.model), _text(self._compiled.specialised.model)
        return f"# as specialised: there is nothing to optimise\n{optimised}" if optimised == before else optimised

    def _shown(self, compiled: Artifacts, steps: Sequence[Step]) -> Iterator[Part]:
        for step in steps:
            match step:
                case Call():
                    bodies = bodies_text(step, compiled)
                    reason = f"{step.reason}; {bodies}" if bodies else step.reason
                    yield Part(None, f"call {step.node.op_type} '{step.node.label}': {reason}")
                case SizeReading():
                    yield Part(None, "read sizes")
                case RandomKey():
                    yield Part(None, "draw a key of random numbers")
                case Kernel():
                    about = self._about(step) if step.name in self._works else _merged(compiled, step)
                    yield Part(step.name, f"# {about}\n{show_kernel(step)}")
                case LoopStep():
                    yield Part(None, show_loop(step))
                    yield from self._shown(compiled, step.steps)
                    yield Part(None, f"end {step.name}")
                case BranchStep():
                    yield Part(None, f"{step.name} {step.condition.name}:")
                    yield from self._shown(compiled, step.then)
                    yield Part(None, f"else of {step.name}:")
                    yield from self._shown(compiled, step.otherwise)
                    yield Part(None, f"end {step.name}")

    def _code(self, compiled: Artifacts, stage: str) -> Iterator[Part]:
        """The LLVM IR or assembly of kernels; those that share the code of an earlier one only name it."""
        sign = ";" if stage == "llvm" else "#"
        known: dict[str, str] = {}
        for step in kernels_in(compiled.scheduled.steps):
            kernel_code = link_kernel(emit_kernel(step, self._target))
            text = emit(parametrise(step).kernel, self._target).text
            first = known.setdefault(text, step.name)
            lines = [
                f"{step.name}: {self._about(step)}",
                f"buffers {', '.join(buffer.name for buffer in kernel_code.buffers)}",
                f"sizes {', '.join(map(str, kernel_code.scalars)) or 'none'}",
            ]
            if first != step.name:
                lines.append(f"the code is that of {first}")
            head = "\n".join(f"{sign} {line}" for line in lines)
            code = "" if first != step.name else text if stage == "llvm" else assembly_of(text, self._target)
            yield Part(step.name, f"{head}\n{code}".rstrip())

    def _about(self, kernel: Kernel) -> str:
        work = self._works[kernel.name]
        return f"{operators(work)}, stores {_stored(work)}: {work.why}"


STAGES = ("typed", "specialised", "optimised", "prim", "loops", "scheduled", "llvm", "asm", "plan")
"""The stages that can be shown, in order."""

SUFFIXES = {"typed": ".onnxtxt", "specialised": ".onnxtxt", "optimised": ".onnxtxt", "llvm": ".ll", "asm": ".s"}
"""How files of a stage end; others are `.txt`."""


def _merged(compiled: Artifacts, kernel: Kernel) -> str:
    """What a fused kernel stores that the schedule has merged into another one."""
    tensor = compiled.fused.stores[kernel]
    return f"stores {typed(tensor)}: {compiled.fused.why[tensor]}"


def _text(model: Model) -> str:
    return to_text(model, elide=_SHOWN).rstrip("\n")


def _primitives(compiled: Artifacts) -> str:
    names: dict[Tensor, str] = {}
    for value, tensor in compiled.program.values.items():
        names.setdefault(tensor, value.name)
    return show(compiled.outputs, names)


def _stored(work: Work) -> str:
    return typed(work.tensor) if work.value is None else f"'{work.value.name}' {typed(work.tensor)}"
