"""Changes in a workspace's folder, as they happen (spec files-git-terminal 13 to 22).

`rules.py` what counts, `window.py` when it is told (both pure); `tree.py` what the folder looked like when we last
looked, `git_eye.py` the repository, `native.py` the kernel's hints; `watcher.py` one thread per workspace that puts
them together, `pool.py` who holds it.

The kernel only says where to look. What happened is always the difference between the disk and `tree.py`, so a lost,
doubled or late hint, a rescan and polling all come to the same result.
"""

from .pool import Watches

__all__ = ["Watches"]
