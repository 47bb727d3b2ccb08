"""Pure: the command line of bubblewrap. The order of its mounts is a contract: the last mount on a path wins."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TMP_BYTES = 1 << 30
SHM = "/dev/shm"  # noqa: S108
SHM_BYTES = 256 << 20
NETWORK_DIR = "/run/halo"  # in the sandbox
PROXY_SOCKET = f"{NETWORK_DIR}/proxy.sock"

# Own everything; no rights even as root; no way to become more inside (SECURITY-BAR S2).
ISOLATION = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-net",
    "--unshare-cgroup-try",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    "--hostname",
    "sandbox",
    "--clearenv",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the sandbox sees. All paths are absolute, resolved, and there, unless said otherwise.

    pins: folders between a writable root and what is protected in it. Bound onto themselves, they cannot be renamed,
    so a protected place cannot be carried out from under its mount.
    """

    workspace: Path
    writable: bool
    emptied: Sequence[Path] = ()  # places of sockets and temporary files, besides /tmp
    writable_dirs: Sequence[Path] = ()
    pins: Sequence[Path] = ()
    read_only: Sequence[Path] = ()  # control files and folders
    work_dirs: Sequence[Path] = ()  # writable again inside a read-only one
    masked_dirs: Sequence[Path] = ()
    masked_files: Sequence[Path] = ()
    hidden_dirs: Sequence[Path] = ()
    hidden_files: Sequence[Path] = ()
    empty: Path = Path("/dev/null")  # stands in for files; an empty one can be read, a device cannot (git insists)
    proxy_socket: Path | None = None  # on the host; None = no network
    shown: Sequence[tuple[Path, str]] = ()  # files and sockets of the host, and where the sandbox sees them
    programs: Sequence[Path] = ()  # read-only folders that must stay visible although a place above them is emptied


def mounts(layout: Layout) -> list[str]:
    """The mounts in order (spec tools 3.2): system, temp, workspace, control files, masks, /proc and /dev."""
    args = ["--ro-bind", "/", "/"]
    for place in (Path("/tmp"), *layout.emptied):  # noqa: S108 -- the sandbox's own
        args += ["--size", str(TMP_BYTES), "--perms", "1777", "--tmpfs", str(place)]
    for place in layout.programs:
        args += ["--ro-bind", str(place), str(place)]
    how = "--bind" if layout.writable else "--ro-bind"
    args += [how, str(layout.workspace), str(layout.workspace)]
    if layout.writable:
        for place in layout.writable_dirs:
            args += ["--bind", str(place), str(place)]
        for kind, place in _outer_first(layout):
            args += [kind, str(place), str(place)]
    for place in (*layout.masked_dirs, *layout.hidden_dirs):
        args += ["--perms", "0755", "--tmpfs", str(place), "--remount-ro", str(place)]
    for place in (*layout.masked_files, *layout.hidden_files):
        args += ["--ro-bind", str(layout.empty), str(place)]
    if layout.proxy_socket is not None:
        args += ["--ro-bind", str(layout.proxy_socket), PROXY_SOCKET]
    for place, seen_at in layout.shown:
        args += ["--ro-bind", str(place), seen_at]
    args += ["--dev", "/dev", "--size", str(SHM_BYTES), "--perms", "1777", "--tmpfs", SHM, "--remount-ro", "/dev"]
    # Without rights, but with the numeric user of the server: where that is root, it may write the kernel's settings.
    return [*args, "--proc", "/proc", "--remount-ro", "/proc"]


def _outer_first(layout: Layout) -> list[tuple[str, Path]]:
    """Work folders lie in what is read-only, and there may be control files in them in turn."""
    layers = [("--bind", place) for place in layout.pins]
    layers += [("--ro-bind", place) for place in layout.read_only]
    layers += [("--bind", place) for place in layout.work_dirs]
    return sorted(layers, key=lambda layer: len(layer[1].parts))


def environment(home: Path, *, proxy: str = "") -> dict[str, str]:
    """Built from nothing: what the server knows stays with it. proxy: its address inside, "" = no network."""
    path = f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    values = {"PATH": path, "HOME": str(home), "TERM": "xterm-256color"}
    if proxy:
        values |= {name: proxy for low in ("http_proxy", "https_proxy", "all_proxy") for name in (low, low.upper())}
        values |= dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1")
    return values


def bwrap_argv(
    program: str, layout: Layout, environ: dict[str, str], command: Sequence[str], *, chdir: Path | None = None
) -> list[str]:
    """Everything before `--` is ours; `command` is data."""
    args = [program, *mounts(layout), *ISOLATION]
    for name, value in environ.items():
        args += ["--setenv", name, value]
    return [*args, "--chdir", str(chdir or layout.workspace), "--", *command]
