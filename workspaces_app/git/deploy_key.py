"""An ssh key for one workspace: pushes and pulls of it use this one and none of the account's own keys.

It reaches only the repository whose host was given its public half, so members who may push reach no other. The private
half lies in the home's secrets; git sees an agent that holds it, for that one call.
"""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

from halo_site.lib.errors import Conflict, StorageFull

from ..sandbox.argv import environment
from . import ssh_agent

SECONDS = 15.0


def public(workspace: int) -> str | None:
    """The half to give to the host; None = this workspace has no key."""
    try:
        return _file(workspace).with_suffix(".pub").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None


def make(workspace: int) -> str:
    """The public half; one that is there stays. Raises Conflict without ssh's tools, StorageFull."""
    known = public(workspace)
    if known is not None:
        return known
    file = _file(workspace)
    making = file.with_name(f".making-{secrets.token_hex(6)}")
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"halo-workspace-{workspace}", "-f", str(making)]
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, env=environment(Path.home())
        )
        if done.returncode:
            raise Conflict("The key could not be made: " + done.stderr.decode("utf-8", "replace")[:200].strip())
        os.rename(making, file)
        os.rename(making.with_suffix(".pub"), file.with_suffix(".pub"))  # last: with it the key is there
    except FileNotFoundError as error:
        raise Conflict("ssh-keygen is not installed on the server") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageFull(f"The key was not saved: {error}") from error
    finally:
        for left in (making, making.with_suffix(".pub")):
            left.unlink(missing_ok=True)
    return public(workspace) or ""


def forget(workspace: int) -> None:
    """Fine when there is none."""
    for file in (_file(workspace).with_suffix(".pub"), _file(workspace)):
        file.unlink(missing_ok=True)


@contextmanager
def agent(workspace: int) -> Iterator[Path | None]:
    """The socket of an agent that holds this key and nothing else; None = there is no key. Raises Conflict."""
    if public(workspace) is None:
        yield None
        return
    started = ssh_agent.start()
    if started is None:
        raise Conflict("This workspace has a deploy key, but no ssh agent can be started on the server")
    try:
        socket = started[1]
        env = environment(Path.home()) | {"SSH_AUTH_SOCK": str(socket), "LC_ALL": "C"}
        words = ["ssh-add", "-q", "--", str(_file(workspace))]
        with suppress(subprocess.TimeoutExpired):
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, env=env)
            if done.returncode == 0:
                yield socket
                return
        raise Conflict("The deploy key of this workspace cannot be read: delete it and make another")
    finally:
        ssh_agent.end(*started)


def _file(workspace: int) -> Path:
    return settings.HALO.secrets_dir / "deploy-keys" / str(workspace)
