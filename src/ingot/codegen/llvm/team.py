"""The native part of running a plan: threads that walk the same steps, and meet after each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.codegen.llvm.target import Target

WALK = "kernel"
SERVE = "serve"

JOB_WORDS = 32
"""The 8-byte words of what threads share, the parts that are written to often on cache lines of their own.

0 steps, 1 how many, 2 slots, 3 state, 4 threads; 8 the number of the job, 9 whether to stop, 10 sleepers;
16 arrived; 24 generation, 25 sleepers, 26 and 27 in turns the step that comes next, 28 the step after the last.
"""

_SYSCALL = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "arm": 240}
"""The number of futex."""


def team_text(target: Target) -> str:
    """`kernel(job, thread)` walks the steps of a job; `serve(job, thread)` does so for one job after another."""
    machine = target.triple.split("-")[0]
    linux = sys.platform == "linux" and machine in _SYSCALL
    pause = "call void @llvm.x86.sse2.pause()" if machine == "x86_64" else ""
    sleep = "call i32 @sched_yield()"
    wake = ""
    if linux:
        number = _SYSCALL[machine]
        sleep = _futex(machine, number, "i64 128, i64 %seen.wide")
        wake = "%woken = " + _futex(machine, number, "i64 129, i64 2147483647")
    return _TEXT.format(triple=target.triple, pause=pause, sleep=sleep, wake=wake)


def _futex(machine: str, number: int, said: str) -> str:
    """A call of the system by hand on x86-64, where code must need nothing from elsewhere; else through libc."""
    if machine != "x86_64":
        return f"call i64 (i64, ...) @syscall(i64 {number}, ptr %word, {said}, ptr null, ptr null, i64 0)"
    taken = "={rax},{rax},{rdi},{rsi},{rdx},{r10},~{rcx},~{r11},~{memory}"
    kinds = "i64 (i64, ptr, i64, i64, ptr)"
    return f'call {kinds} asm sideeffect "syscall", "{taken}"(i64 {number}, ptr %word, {said}, ptr null)'


_TEXT = """
target triple = "{triple}"
declare void @llvm.x86.sse2.pause()
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)

; Wait while the 32-bit word is what was seen: spin for a while, then sleep.
define internal void @wait(ptr %word, i32 %seen, ptr %sleepers, i32 %patience) {{
entry:
  br label %spin
spin:
  %k = phi i32 [0, %entry], [%k1, %again], [%k, %slept]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %more, label %done
more:
  %long = icmp sgt i32 %k, %patience
  br i1 %long, label %sleep, label %again
again:
  {pause}
  %k1 = add i32 %k, 1
  br label %spin
sleep:
  %a = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %seen.wide = zext i32 %seen to i64
  %slept_for = {sleep}
  %b = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %slept
slept:
  br label %spin
done:
  ret void
}}

define internal void @rouse(ptr %word, ptr %sleepers) {{
entry:
  fence seq_cst
  %n = load atomic i32, ptr %sleepers seq_cst, align 4
  %any = icmp ne i32 %n, 0
  br i1 %any, label %wake, label %done
wake:
  {wake}
  br label %done
done:
  ret void
}}

define internal void @meet(ptr %job, i64 %threads) {{
entry:
  %arrived = getelementptr i64, ptr %job, i64 16
  %generation = getelementptr i64, ptr %job, i64 24
  %sleepers = getelementptr i64, ptr %job, i64 25
  %seen = load atomic i32, ptr %generation acquire, align 4
  %before = atomicrmw add ptr %arrived, i64 1 acq_rel
  %now = add i64 %before, 1
  %last = icmp eq i64 %now, %threads
  br i1 %last, label %release, label %stay
release:
  store atomic i64 0, ptr %arrived monotonic, align 8
  %next = add i32 %seen, 1
  store atomic i32 %next, ptr %generation seq_cst, align 4
  call void @rouse(ptr %generation, ptr %sleepers)
  ret void
stay:
  call void @wait(ptr %generation, i32 %seen, ptr %sleepers, i32 20000)
  ret void
}}

define internal i64 @turn(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %count) {{
entry:
  %bad = load atomic i32, ptr %state monotonic, align 4
  %stop.p = getelementptr i32, ptr %state, i64 1
  %stop = load atomic i32, ptr %stop.p monotonic, align 4
  %ended = or i32 %bad, %stop
  %over = icmp ne i32 %ended, 0
  br i1 %over, label %end, label %live
end:
  ret i64 %count
live:
  %does = load i64, ptr %sizes
  %yes.p = getelementptr i64, ptr %sizes, i64 1
  %yes = load i64, ptr %yes.p
  %no.p = getelementptr i64, ptr %sizes, i64 2
  %no = load i64, ptr %no.p
  %first.i = load i32, ptr %which
  switch i64 %does, label %fail [ i64 0, label %begin
                                  i64 1, label %again
                                  i64 2, label %choose
                                  i64 3, label %go ]
fail:
  store atomic i32 1, ptr %state monotonic, align 4
  ret i64 %count
go:
  ret i64 %yes
choose:
  %c.s = sext i32 %first.i to i64
  %c.p = getelementptr ptr, ptr %slots, i64 %c.s
  %c.at = load ptr, ptr %c.p
  %c = load i8, ptr %c.at
  %c.yes = icmp ne i8 %c, 0
  %c.next = select i1 %c.yes, i64 %yes, i64 %no
  ret i64 %c.next
begin:
  br label %counted
again:
  %n.s0 = sext i32 %first.i to i64
  %n.p0 = getelementptr ptr, ptr %slots, i64 %n.s0
  %n.at0 = load ptr, ptr %n.p0
  %n.old = load i64, ptr %n.at0
  %n.more = add i64 %n.old, 1
  %pairs.p = getelementptr i64, ptr %sizes, i64 4
  %pairs = load i64, ptr %pairs.p
  br label %swap
swap:
  %j = phi i64 [0, %again], [%j1, %one]
  %left = icmp slt i64 %j, %pairs
  br i1 %left, label %one, label %counted
one:
  %at.a = mul i64 %j, 2
  %at.a3 = add i64 %at.a, 3
  %at.b3 = add i64 %at.a, 4
  %a.w = getelementptr i32, ptr %which, i64 %at.a3
  %b.w = getelementptr i32, ptr %which, i64 %at.b3
  %a.i = load i32, ptr %a.w
  %b.i = load i32, ptr %b.w
  %a.s = sext i32 %a.i to i64
  %b.s = sext i32 %b.i to i64
  %a.p = getelementptr ptr, ptr %slots, i64 %a.s
  %b.p = getelementptr ptr, ptr %slots, i64 %b.s
  %a = load ptr, ptr %a.p
  %b = load ptr, ptr %b.p
  store ptr %b, ptr %a.p
  store ptr %a, ptr %b.p
  %j1 = add i64 %j, 1
  br label %swap
counted:
  %number = phi i64 [0, %begin], [%n.more, %swap]
  %runs.p = getelementptr i64, ptr %state, i64 1
  %runs.old = load i64, ptr %runs.p
  %runs = add i64 %runs.old, 1
  store i64 %runs, ptr %runs.p
  %most.p = getelementptr i64, ptr %sizes, i64 5
  %most = load i64, ptr %most.p
  %many = icmp sgt i64 %runs, %most
  br i1 %many, label %fail, label %few
few:
  %n.s = sext i32 %first.i to i64
  %n.p = getelementptr ptr, ptr %slots, i64 %n.s
  %n.at = load ptr, ptr %n.p
  store i64 %number, ptr %n.at
  %t.w = getelementptr i32, ptr %which, i64 1
  %t.i = load i32, ptr %t.w
  %t.told = icmp sge i32 %t.i, 0
  br i1 %t.told, label %limit.read, label %limit.known
limit.read:
  %t.s = sext i32 %t.i to i64
  %t.p = getelementptr ptr, ptr %slots, i64 %t.s
  %t.at = load ptr, ptr %t.p
  %t.value = load i64, ptr %t.at
  br label %limited
limit.known:
  %l.p = getelementptr i64, ptr %sizes, i64 3
  %l.value = load i64, ptr %l.p
  br label %limited
limited:
  %limit = phi i64 [%t.value, %limit.read], [%l.value, %limit.known]
  %within = icmp slt i64 %number, %limit
  br i1 %within, label %ask, label %done
ask:
  %g.w = getelementptr i32, ptr %which, i64 2
  %g.i = load i32, ptr %g.w
  %g.told = icmp sge i32 %g.i, 0
  br i1 %g.told, label %asked, label %on
asked:
  %g.s = sext i32 %g.i to i64
  %g.p = getelementptr ptr, ptr %slots, i64 %g.s
  %g.at = load ptr, ptr %g.p
  %g = load i8, ptr %g.at
  %g.yes = icmp ne i8 %g, 0
  br i1 %g.yes, label %on, label %done
on:
  ret i64 %yes
done:
  ret i64 %no
}}

define void @kernel(ptr %job, i64 %thread) {{
entry:
  %steps = load ptr, ptr %job
  %count.p = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.p
  %slots.p = getelementptr i64, ptr %job, i64 2
  %slots = load ptr, ptr %slots.p
  %state.p = getelementptr i64, ptr %job, i64 3
  %state = load ptr, ptr %state.p
  %threads.p = getelementptr i64, ptr %job, i64 4
  %threads = load i64, ptr %threads.p
  %alone = icmp eq i64 %threads, 1
  %leads = icmp eq i64 %thread, 0
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %start
start:
  br i1 %leads, label %fresh, label %step
fresh:
  %runs.p = getelementptr i64, ptr %state, i64 1
  store i64 0, ptr %runs.p
  br label %step
step:
  %i = phi i64 [0, %start], [0, %fresh], [%next, %after]
  %turns = phi i64 [0, %start], [0, %fresh], [%turns1, %after]
  %at = mul i64 %i, 3
  %code.p = getelementptr i64, ptr %steps, i64 %at
  %code = load ptr, ptr %code.p
  %at1 = add i64 %at, 1
  %which.p = getelementptr i64, ptr %steps, i64 %at1
  %which = load ptr, ptr %which.p
  %at2 = add i64 %at, 2
  %sizes.p = getelementptr i64, ptr %steps, i64 %at2
  %sizes = load ptr, ptr %sizes.p
  %turning = icmp eq ptr %code, null
  br i1 %turning, label %decide, label %check
check:
  %stop.p = getelementptr i32, ptr %state, i64 1
  %stop = load atomic i32, ptr %stop.p monotonic, align 4
  %going = icmp eq i32 %stop, 0
  br i1 %going, label %work, label %met
work:
  call void %code(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %thread, i64 %threads)
  br label %met
met:
  %i1 = add i64 %i, 1
  br i1 %alone, label %after, label %together
together:
  call void @meet(ptr %job, i64 %threads)
  br label %after
decide:
  ; One thread decides for all. Two words in turns: one may be written while a slow thread still reads the other.
  %odd = and i64 %turns, 1
  %word = add i64 %odd, 26
  %next.p = getelementptr i64, ptr %job, i64 %word
  br i1 %leads, label %lead, label %follow
lead:
  %decided = call i64 @turn(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %count)
  store atomic i64 %decided, ptr %next.p monotonic, align 8
  br i1 %alone, label %turned, label %follow
follow:
  call void @meet(ptr %job, i64 %threads)
  br label %turned
turned:
  %told = load atomic i64, ptr %next.p monotonic, align 8
  %turns.more = add i64 %turns, 1
  br label %after
after:
  %next = phi i64 [%i1, %met], [%i1, %together], [%told, %turned]
  %turns1 = phi i64 [%turns, %met], [%turns, %together], [%turns.more, %turned]
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %last
last:
  br i1 %leads, label %tell, label %end
tell:
  %end.p = getelementptr i64, ptr %job, i64 28
  store i64 %next, ptr %end.p
  br label %end
end:
  ret void
}}

define void @serve(ptr %job, i64 %thread) {{
entry:
  %number = getelementptr i64, ptr %job, i64 8
  %stop.p = getelementptr i64, ptr %job, i64 9
  %sleepers = getelementptr i64, ptr %job, i64 10
  %ready = getelementptr i64, ptr %job, i64 11
  %first = load atomic i32, ptr %number acquire, align 4
  %r = atomicrmw add ptr %ready, i64 1 seq_cst
  br label %idle
idle:
  %seen = phi i32 [%first, %entry], [%job.n, %done]
  call void @wait(ptr %number, i32 %seen, ptr %sleepers, i32 20000)
  %stop = load atomic i64, ptr %stop.p acquire, align 8
  %ended = icmp ne i64 %stop, 0
  br i1 %ended, label %end, label %job.begin
job.begin:
  %job.n = load atomic i32, ptr %number acquire, align 4
  call void @kernel(ptr %job, i64 %thread)
  br label %done
done:
  br label %idle
end:
  ret void
}}

define void @begin(ptr %job) {{
entry:
  %number = getelementptr i64, ptr %job, i64 8
  %sleepers = getelementptr i64, ptr %job, i64 10
  %n = atomicrmw add ptr %number, i32 1 seq_cst
  call void @rouse(ptr %number, ptr %sleepers)
  ret void
}}
"""
