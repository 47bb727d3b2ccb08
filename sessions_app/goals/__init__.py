"""Goal mode: one session judges and dispatches, another works (spec sessions 15). Off by default."""
