"""Workers that `manage.py runworker` can start: each works until its event is set, then ends cleanly."""

import asyncio
import logging

from halo_site.lib.garbage import collect_from_now_on

log = logging.getLogger("halo.serve")
GRACE = 3.5  # seconds for runs to be handed back


async def engine(ending: asyncio.Event) -> None:
    """Run agents. Raises what the engine cannot survive; sessions it held are taken over by others."""
    from halo_site import transport
    from sessions_app.engine.engine import Engine

    transport.start_worker()
    worker = Engine("engine")
    work = asyncio.create_task(worker.run(), name="engine")
    stop = asyncio.create_task(ending.wait(), name="signal")
    collect_from_now_on()
    log.info("engine worker is ready")
    print("Halo engine worker is running", flush=True)
    try:
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            log.critical("the engine ended", exc_info=work.exception())
            work.result()
            raise RuntimeError("the engine ended by itself")
        await asyncio.wait_for(worker.shutdown(), GRACE)
    except TimeoutError:
        log.warning("runs did not end in %.1f s; they are taken over when their lease runs out", GRACE)
    finally:
        for task in (work, stop):
            task.cancel()
        await asyncio.gather(work, stop, return_exceptions=True)
        await transport.close()
