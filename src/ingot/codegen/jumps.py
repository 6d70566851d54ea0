"""The steps of a plan that have no code of their own, but say which step comes next."""

BEGIN, AGAIN, CHOOSE, GO, FAIL = range(5)
"""What a step without code does: begin a loop, begin its next run, choose between two, go on elsewhere, give up.

`which` are slots: the number of the run or the condition of a choice; how many runs there are at most, and whether to
go on, or -1; and pairs whose addresses change places. `sizes` are what it does, the step that comes next, the step
that does otherwise, the runs if no slot tells them, how many pairs there are, and the most runs of all loops together:
beyond these it gives up.
"""
