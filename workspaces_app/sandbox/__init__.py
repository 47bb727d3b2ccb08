"""Commands that must not reach what their session may not (spec tools 3.2; SECURITY-BAR S1 to S8).

    async with cell(workspace, level, session_id=...) as made:
        outcome = await run_child(made.wrap([...]), env={}, guard=made.guard, ...)
    made.held    # what was set aside

`argv.py` is the pure order of mounts, `plan.py` looks at the disk, `sweep.py` guards control files that are not there
yet, `lookout.py` while a command runs, `repositories.py` judges those of git, `held.py` sets aside, `proxy.py` is the
network, `limits.py` what a command may take, `probe.py` whether all this works here.
"""

from .cell import Cell, cell
from .probe import Status, forget, status

__all__ = ["Cell", "Status", "cell", "forget", "status"]
