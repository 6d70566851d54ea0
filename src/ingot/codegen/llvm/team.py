"""The native part of running a plan: threads that take pieces of one step after another, whoever has time.

A step is over when its pieces are done, not when all threads have come by: one that the system has put aside holds the
others up only if it has a piece in its hands. The thread that ends a step goes on alone through the steps that are too
small to be shared, up to the next one that is not, which it announces to the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.schedule.target import Target

ALONE, SHARED, LEAD, SERVE, DISMISS = "kernel", "shared", "lead", "serve", "dismiss"
"""The functions: a job walked by one thread; whether it is worth several; one led by the caller; what others do; their
end."""

MOST_THREADS = 64

ALONE_WORDS = 8
"""The 8-byte words of a job for one thread."""

JOB_WORDS = 32 + 8 * MOST_THREADS
"""The 8-byte words of what threads share, the parts that are written to often on cache lines of their own.

0 steps, 1 how many, 2 slots, 3 state, 4 threads, 5 the step announced, 6 pieces announced since somebody was woken, 7
the step after the last; 8 the announcement: from the lowest bit on, 32 for its number, 24 for the pieces of the step
(none: the job is over), 8 for the threads; 16 a bit for each thread that sleeps, 17 whether to end; 24 pieces done;
from 32 on, a line for each thread, its claims: 32 bits for the next of its pieces, 32 for the number.

Pieces are dealt out to the threads in order, as in hands of cards, so that a thread gets about the same part of every
step, and finds in its cache what it wrote before. Who has none left takes from the others.
"""

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "arm": 240}
_YIELD = {"x86_64": 24, "aarch64": 124, "riscv64": 124, "arm": 158}
"""The numbers of calls of Linux."""

_WAIT, _WAKE = 9 | 128, 10 | 128
"""What futex is asked for: by bits, and among the threads of a process."""

_SPINS = 5000
"""How often a thread looks before it offers the processor to others."""

_YIELDS = 3000
"""How often it does so, and looks again, before it sleeps."""

_WORTH_WAKING = 4
"""Pieces that are worth the time it takes to wake somebody."""

_MOST_PIECES = (1 << 24) - 1


def team_text(target: Target) -> str:
    """A module with the functions of a team."""
    machine = target.machine
    pause = "call void @llvm.x86.sse2.pause()" if machine == "x86_64" else ""
    declare = "declare void @llvm.x86.sse2.pause()" if machine == "x86_64" else ""
    yields = target.threads and "windows" not in target.triple
    offer = "call i32 @sched_yield()" if yields else "add i32 0, 0"
    sleep, wake = f"%slept.for = {offer}", ""
    if target.futex and machine in _FUTEX:
        offer = _system(machine, _YIELD[machine], "0", "0", "0", "0")
        futex = _FUTEX[machine]
        sleep = "%slept.for = " + _system(machine, futex, "%word.i", str(_WAIT), "%seen.wide", "%bit.wide")
        wake = "%woken = " + _system(machine, futex, "%word.i", str(_WAKE), "2147483647", "%bits.wide")
    text = _TEXT.format(
        triple=target.triple,
        declare=declare,
        pause=pause,
        offer=f"%offered = {offer}",
        sleep=sleep,
        wake=wake,
        spins=_SPINS,
        patience=_SPINS + _YIELDS,
        worth=_WORTH_WAKING,
        most=_MOST_PIECES,
    )
    if target.pointer == 32:  # of the 64 bits that a slot has, the low ones, which come first
        text = text.replace("getelementptr ptr, ptr %slots", "getelementptr i64, ptr %slots")
    return text


def _system(machine: str, number: int, *said: str) -> str:
    """A call of the system by hand on x86-64, where code must need nothing from elsewhere; else through libc.

    It has six arguments, of which the fourth and the fifth are none.
    """
    first, second, third, last = said
    given = ", ".join(f"i64 {each}" for each in (first, second, third, "0", "0", last))
    if machine != "x86_64":
        return f"call i64 (i64, ...) @syscall(i64 {number}, {given})"
    taken = "={rax},{rax},{rdi},{rsi},{rdx},{r10},{r8},{r9},~{rcx},~{r11},~{memory}"
    kinds = f"i64 ({', '.join(['i64'] * 7)})"
    return f'call {kinds} asm sideeffect "syscall", "{taken}"(i64 {number}, {given})'


_TEXT = """
target triple = "{triple}"
{declare}
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)

; How many pieces a step has, for so many threads: at least one.
define internal i64 @pieces(ptr %step, i64 %threads) {{
entry:
  %code = load ptr, ptr %step
  %sizes.p = getelementptr i64, ptr %step, i64 2
  %sizes = load ptr, ptr %sizes.p
  %found = call i64 %code(ptr null, ptr null, ptr %sizes, ptr null, i64 0, i64 -1, i64 %threads)
  %few = icmp slt i64 %found, {most}
  %count = select i1 %few, i64 %found, i64 {most}
  ret i64 %count
}}

define internal i1 @stopped(ptr %job) {{
entry:
  %state.p = getelementptr i64, ptr %job, i64 3
  %state = load ptr, ptr %state.p
  %stop.p = getelementptr i32, ptr %state, i64 1
  %stop = load atomic i32, ptr %stop.p monotonic, align 4
  %yes = icmp ne i32 %stop, 0
  ret i1 %yes
}}

; One piece of a step, unless the run is to stop.
define internal void @piece(ptr %job, ptr %step, i64 %thread, i64 %piece, i64 %pieces) {{
entry:
  %stop = call i1 @stopped(ptr %job)
  br i1 %stop, label %done, label %work
work:
  %slots.p = getelementptr i64, ptr %job, i64 2
  %slots = load ptr, ptr %slots.p
  %state.p = getelementptr i64, ptr %job, i64 3
  %state = load ptr, ptr %state.p
  %code = load ptr, ptr %step
  %which.p = getelementptr i64, ptr %step, i64 1
  %which = load ptr, ptr %which.p
  %sizes.p = getelementptr i64, ptr %step, i64 2
  %sizes = load ptr, ptr %sizes.p
  %r = call i64 %code(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %thread, i64 %piece, i64 %pieces)
  br label %done
done:
  ret void
}}

define internal ptr @step(ptr %job, i64 %index) {{
entry:
  %steps = load ptr, ptr %job
  %at = mul i64 %index, 3
  %step = getelementptr i64, ptr %steps, i64 %at
  ret ptr %step
}}

; A step without code says which comes next.
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

; The step that follows one without code; -1 if it has some.
define internal i64 @turned(ptr %job, i64 %index) {{
entry:
  %step = call ptr @step(ptr %job, i64 %index)
  %code = load ptr, ptr %step
  %turning = icmp eq ptr %code, null
  br i1 %turning, label %decide, label %no
no:
  ret i64 -1
decide:
  %count.p = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.p
  %slots.p = getelementptr i64, ptr %job, i64 2
  %slots = load ptr, ptr %slots.p
  %state.p = getelementptr i64, ptr %job, i64 3
  %state = load ptr, ptr %state.p
  %which.p = getelementptr i64, ptr %step, i64 1
  %which = load ptr, ptr %which.p
  %sizes.p = getelementptr i64, ptr %step, i64 2
  %sizes = load ptr, ptr %sizes.p
  %next = call i64 @turn(ptr %slots, ptr %which, ptr %sizes, ptr %state, i64 %count)
  ret i64 %next
}}

; No run of a loop has been counted yet.
define internal void @fresh(ptr %job) {{
entry:
  %state.p = getelementptr i64, ptr %job, i64 3
  %state = load ptr, ptr %state.p
  %runs.p = getelementptr i64, ptr %state, i64 1
  store i64 0, ptr %runs.p
  ret void
}}

define internal void @ended(ptr %job, i64 %index) {{
entry:
  %next.p = getelementptr i64, ptr %job, i64 7
  store i64 %index, ptr %next.p
  ret void
}}

; The steps of a job, one after another, by one thread.
define void @kernel(ptr %job) {{
entry:
  %count.p = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.p
  call void @fresh(ptr %job)
  br label %next
next:
  %i = phi i64 [0, %entry], [%i1, %after], [%turned, %consider]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %consider, label %end
consider:
  %turned = call i64 @turned(ptr %job, i64 %i)
  %turns = icmp sge i64 %turned, 0
  br i1 %turns, label %next, label %begin
begin:
  %step = call ptr @step(ptr %job, i64 %i)
  %pieces = call i64 @pieces(ptr %step, i64 1)
  br label %work
work:
  %p = phi i64 [0, %begin], [%p1, %work]
  call void @piece(ptr %job, ptr %step, i64 0, i64 %p, i64 %pieces)
  %p1 = add i64 %p, 1
  %again = icmp slt i64 %p1, %pieces
  br i1 %again, label %work, label %after
after:
  %i1 = add i64 %i, 1
  br label %next
end:
  call void @ended(ptr %job, i64 %i)
  ret void
}}

; Whether a job has a step that is worth sharing.
define i64 @shared(ptr %job) {{
entry:
  %count.p = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.p
  %threads.p = getelementptr i64, ptr %job, i64 4
  %threads = load i64, ptr %threads.p
  br label %next
next:
  %i = phi i64 [0, %entry], [%i1, %small]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %consider, label %no
consider:
  %step = call ptr @step(ptr %job, i64 %i)
  %code = load ptr, ptr %step
  %turns = icmp eq ptr %code, null
  br i1 %turns, label %small, label %begin
begin:
  %pieces = call i64 @pieces(ptr %step, i64 %threads)
  %several = icmp sgt i64 %pieces, 1
  br i1 %several, label %yes, label %small
small:
  %i1 = add i64 %i, 1
  br label %next
yes:
  ret i64 1
no:
  ret i64 0
}}

; Wait while the announcement has the number that was seen.
define internal void @wait(ptr %job, i32 %seen, i64 %thread, i32 %begin) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %sleepers = getelementptr i64, ptr %job, i64 16
  br label %look
look:
  %k = phi i32 [%begin, %entry], [%k1, %spin], [%k2, %offer], [%k, %sleep]
  %now = load atomic i32, ptr %word acquire, align 8
  %same = icmp eq i32 %now, %seen
  br i1 %same, label %more, label %done
more:
  %short = icmp slt i32 %k, {spins}
  br i1 %short, label %spin, label %longer
spin:
  {pause}
  %k1 = add i32 %k, 1
  br label %look
longer:
  %long = icmp sgt i32 %k, {patience}
  br i1 %long, label %sleep, label %offer
offer:
  {offer}
  %k2 = add i32 %k, 1
  br label %look
sleep:
  %own = shl i64 1, %thread
  %others = xor i64 %own, -1
  %short.thread = trunc i64 %thread to i32
  %turn = and i32 %short.thread, 31
  %bit = shl i32 1, %turn
  %bit.wide = zext i32 %bit to i64
  %seen.wide = zext i32 %seen to i64
  %word.i = ptrtoint ptr %word to i64
  %a = atomicrmw or ptr %sleepers, i64 %own seq_cst
  {sleep}
  %b = atomicrmw and ptr %sleepers, i64 %others seq_cst
  br label %look
done:
  ret void
}}

; Wake those of some threads that sleep.
define internal void @rouse(ptr %job, i64 %whom) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %sleepers = getelementptr i64, ptr %job, i64 16
  fence seq_cst
  %mask = load atomic i64, ptr %sleepers seq_cst, align 8
  %meant = and i64 %mask, %whom
  %any = icmp ne i64 %meant, 0
  br i1 %any, label %wake, label %done
wake:
  %high = lshr i64 %meant, 32
  %both = or i64 %meant, %high
  %bits.wide = and i64 %both, 4294967295
  %word.i = ptrtoint ptr %word to i64
  {wake}
  br label %done
done:
  ret void
}}

; Announce a step of so many pieces, or that there is none any more.
define internal void @announce(ptr %job, i64 %pieces) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %threads.p = getelementptr i64, ptr %job, i64 4
  %threads = load i64, ptr %threads.p
  %seen = load atomic i32, ptr %word monotonic, align 8
  %number = add i32 %seen, 1
  %low = zext i32 %number to i64
  %middle = shl i64 %pieces, 32
  %high = shl i64 %threads, 56
  %some = or i64 %low, %middle
  %all = or i64 %some, %high
  store atomic i64 %all, ptr %word seq_cst, align 8
  %over = icmp eq i64 %pieces, 0
  br i1 %over, label %leader, label %members
leader:
  call void @rouse(ptr %job, i64 1)
  ret void
members:
  %asleep.p = getelementptr i64, ptr %job, i64 6
  %asleep = load i64, ptr %asleep.p
  %sum = add i64 %asleep, %pieces
  %worth = icmp sge i64 %sum, {worth}
  %kept = select i1 %worth, i64 0, i64 %sum
  store i64 %kept, ptr %asleep.p
  br i1 %worth, label %wake, label %done
wake:
  %spare = sub i64 64, %threads
  %whom = lshr i64 -1, %spare
  call void @rouse(ptr %job, i64 %whom)
  br label %done
done:
  ret void
}}

; Go through steps from one on, as far as they are not shared.
define internal void @advance(ptr %job, i64 %thread, i64 %from) {{
entry:
  %count.p = getelementptr i64, ptr %job, i64 1
  %count = load i64, ptr %count.p
  %threads.p = getelementptr i64, ptr %job, i64 4
  %threads = load i64, ptr %threads.p
  br label %next
next:
  %i = phi i64 [%from, %entry], [%i1, %small], [%turned, %consider]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %going, label %over
going:
  %stop = call i1 @stopped(ptr %job)
  br i1 %stop, label %over, label %consider
consider:
  %turned = call i64 @turned(ptr %job, i64 %i)
  %turns = icmp sge i64 %turned, 0
  br i1 %turns, label %next, label %begin
begin:
  %step = call ptr @step(ptr %job, i64 %i)
  %pieces = call i64 @pieces(ptr %step, i64 %threads)
  %shared = icmp sgt i64 %pieces, 1
  br i1 %shared, label %share, label %small
small:
  call void @piece(ptr %job, ptr %step, i64 %thread, i64 0, i64 1)
  %i1 = add i64 %i, 1
  br label %next
share:
  %current = getelementptr i64, ptr %job, i64 5
  store i64 %i, ptr %current
  %done = getelementptr i64, ptr %job, i64 24
  store atomic i64 0, ptr %done monotonic, align 8
  call void @announce(ptr %job, i64 %pieces)
  ret void
over:
  call void @ended(ptr %job, i64 %i)
  call void @announce(ptr %job, i64 0)
  ret void
}}

; Take a piece that was dealt to a thread; -1 if there is none left.
define internal i64 @claim(ptr %job, i64 %seen, i64 %from) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %number32 = trunc i64 %seen to i32
  %number = zext i32 %number32 to i64
  %rest = lshr i64 %seen, 32
  %pieces = and i64 %rest, {most}
  %threads = lshr i64 %seen, 56
  %from1 = add i64 %from, 1
  %low.m = mul i64 %pieces, %from
  %low = udiv i64 %low.m, %threads
  %high.m = mul i64 %pieces, %from1
  %high = udiv i64 %high.m, %threads
  %none = icmp uge i64 %low, %high
  %line = shl i64 %from, 3
  %at = add i64 %line, 32
  %claims = getelementptr i64, ptr %job, i64 %at
  br i1 %none, label %empty, label %look
look:
  %found = load atomic i64, ptr %claims acquire, align 8
  %of = lshr i64 %found, 32
  %current = icmp eq i64 %of, %number
  %piece32 = trunc i64 %found to i32
  %piece64 = zext i32 %piece32 to i64
  br i1 %current, label %known, label %fresh
fresh:
  ; nobody has taken any yet, or the step is over: then the announcement is another
  %now = load atomic i64, ptr %word seq_cst, align 8
  %still = icmp eq i64 %now, %seen
  br i1 %still, label %known, label %empty
known:
  %next = phi i64 [%piece64, %look], [%low, %fresh]
  %left = icmp ult i64 %next, %high
  br i1 %left, label %take, label %empty
take:
  %shifted = shl i64 %number, 32
  %after = add i64 %next, 1
  %new = or i64 %shifted, %after
  %pair = cmpxchg ptr %claims, i64 %found, i64 %new seq_cst acquire
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %taken, label %look
taken:
  ret i64 %next
empty:
  ret i64 -1
}}

; What a thread can do for the step announced: its own pieces, then those of others; who does the last one goes on.
define internal void @take_part(ptr %job, i64 %thread, i64 %seen) {{
entry:
  %rest = lshr i64 %seen, 32
  %pieces = and i64 %rest, {most}
  %threads = lshr i64 %seen, 56
  br label %claim
claim:
  %shift = phi i64 [0, %entry], [%shift, %work], [%shift1, %other]
  %n = phi i64 [0, %entry], [%n1, %work], [%n, %other]
  %sum = add i64 %thread, %shift
  %past = icmp uge i64 %sum, %threads
  %wrapped = sub i64 %sum, %threads
  %from = select i1 %past, i64 %wrapped, i64 %sum
  %piece = call i64 @claim(ptr %job, i64 %seen, i64 %from)
  %none = icmp slt i64 %piece, 0
  br i1 %none, label %other, label %work
work:
  %current.p = getelementptr i64, ptr %job, i64 5
  %current = load i64, ptr %current.p
  %step = call ptr @step(ptr %job, i64 %current)
  call void @piece(ptr %job, ptr %step, i64 %thread, i64 %piece, i64 %pieces)
  %n1 = add i64 %n, 1
  br label %claim
other:
  %shift1 = add i64 %shift, 1
  %more = icmp ult i64 %shift1, %threads
  br i1 %more, label %claim, label %tell
tell:
  %idle = icmp eq i64 %n, 0
  br i1 %idle, label %end, label %count
count:
  %done.p = getelementptr i64, ptr %job, i64 24
  %now.p = getelementptr i64, ptr %job, i64 5
  %now = load i64, ptr %now.p
  %before = atomicrmw add ptr %done.p, i64 %n acq_rel
  %done = add i64 %before, %n
  %last = icmp eq i64 %done, %pieces
  br i1 %last, label %go.on, label %end
go.on:
  %i1 = add i64 %now, 1
  call void @advance(ptr %job, i64 %thread, i64 %i1)
  br label %end
end:
  ret void
}}

define void @lead(ptr %job) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %asleep.p = getelementptr i64, ptr %job, i64 6
  store i64 0, ptr %asleep.p
  call void @fresh(ptr %job)
  call void @advance(ptr %job, i64 0, i64 0)
  br label %next
next:
  %seen = load atomic i64, ptr %word acquire, align 8
  %number = trunc i64 %seen to i32
  %rest = lshr i64 %seen, 32
  %pieces = and i64 %rest, {most}
  %over = icmp eq i64 %pieces, 0
  br i1 %over, label %end, label %work
work:
  call void @take_part(ptr %job, i64 0, i64 %seen)
  call void @wait(ptr %job, i32 %number, i64 0, i32 0)
  br label %next
end:
  ret void
}}

define void @serve(ptr %job, i64 %thread) {{
entry:
  %word = getelementptr i64, ptr %job, i64 8
  %end.p = getelementptr i64, ptr %job, i64 17
  br label %next
next:
  %seen = load atomic i64, ptr %word acquire, align 8
  %number = trunc i64 %seen to i32
  %end.word = load atomic i64, ptr %end.p acquire, align 8
  %ends = icmp ne i64 %end.word, 0
  br i1 %ends, label %end, label %consider
consider:
  %rest = lshr i64 %seen, 32
  %pieces = and i64 %rest, {most}
  %threads = lshr i64 %seen, 56
  %member = icmp ult i64 %thread, %threads
  %some = icmp ne i64 %pieces, 0
  %both = and i1 %member, %some
  %patience = select i1 %member, i32 0, i32 2147483600
  br i1 %both, label %work, label %stay
work:
  call void @take_part(ptr %job, i64 %thread, i64 %seen)
  br label %stay
stay:
  call void @wait(ptr %job, i32 %number, i64 %thread, i32 %patience)
  br label %next
end:
  ret void
}}

; End the threads that serve.
define void @dismiss(ptr %job) {{
entry:
  %end.p = getelementptr i64, ptr %job, i64 17
  store atomic i64 1, ptr %end.p seq_cst, align 8
  call void @announce(ptr %job, i64 0)
  call void @rouse(ptr %job, i64 -1)
  ret void
}}
"""
