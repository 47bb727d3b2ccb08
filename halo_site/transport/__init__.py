"""How news leaves this process and how it comes in (ARCHITECTURE 2). Chosen once per process, by what it is:

* `start_web(...)`, on the loop of a server: frames go straight to its own hub; with REDIS_URL also to the others;
* `start_worker()`, on the loop of `runworker engine`: with REDIS_URL only;
* `start_tool()`, in a process without a loop (qcluster, a management command): by Redis, or else by rows that the
  server collects.

All of it is hints: a message may be lost or come twice, the rows are the truth.
"""

from .choose import close, drain_notices, end_tool, start_tool, start_web, start_worker

__all__ = ["close", "drain_notices", "end_tool", "start_tool", "start_web", "start_worker"]
