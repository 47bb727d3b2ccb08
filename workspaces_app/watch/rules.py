"""Pure: what of a workspace is watched, and what is told of it (spec files-git-terminal 14, 15, 17; README 27)."""

from collections.abc import Iterable

from halo_site.lib.atomic_file import PREFIX

from ..protected import TRASH

# Names that hide whatever lies below them, at any depth: made by tools, large, and of no use in a tree.
_IGNORED = """
.git .hg .svn node_modules bower_components .pnpm-store .yarn .next dist build out target .turbo .cache .parcel-cache
.nuxt .vite .svelte-kit .angular .vercel .netlify .expo coverage .nyc_output __pycache__ .venv .tox .mypy_cache
.pytest_cache .ruff_cache .eggs __pypackages__ .gradle .m2 Pods DerivedData .dart_tool .idea .vscode .vs .history
.fleet .Spotlight-V100 .fseventsd .Trashes .TemporaryItems .DocumentRevisions-V100 .PKInstallSandboxManager
$RECYCLE.BIN AppData
"""
IGNORED = frozenset(_IGNORED.split()) | {"System Volume Information"}

# Written by us with every turn: that files come and go there is told, that they grow is not.
QUIET = (".halo/sessions/", ".halo/logs/")

# Belongs to the system; watched by mistake only.
SYSTEM = frozenset({"/System", "/Library", "/private", "/usr", "/bin", "/sbin", "/etc"})

# The kernel does not report what others change there.
REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "vboxsf", "fuse.sshfs", "fuse.rclone"})


def is_ignored(name: str, folder: str = "") -> bool:
    """For one segment, in a folder of the workspace ("" = its root). The trash is; what went there is gone from its
    place, and that is told. Our own temporary files are renamed to what they become; that is told."""
    return name in IGNORED or name.startswith(PREFIX) or (folder, name) == TRASH


def is_ignored_path(path: str) -> bool:
    """Whether `path` is, or lies in, what is ignored."""
    names = path.split("/")
    return any(map(is_ignored, names)) or tuple(names[:2]) == TRASH


def is_quiet(path: str) -> bool:
    return path.startswith(QUIET)


def refusal(root: str) -> str | None:
    """Why a folder is not watched at all; None = it is."""
    plain = root.rstrip("/") or "/"
    if plain == "/":
        return "the root of a file system is not watched"
    if plain in SYSTEM:
        return f"{plain} is a folder of the system and is not watched"
    return None


def remote_type(root: str, mounts: Iterable[str]) -> str | None:
    """The type of the network file system `root` lies on; None = a local one. mounts: lines of /proc/self/mountinfo."""
    best, found = -1, ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")[0]
        if len(fields) < 5:
            continue
        place = _plain(fields[4]).rstrip("/")
        if (root == place or root.startswith(place + "/")) and len(place) >= best:
            best, found = len(place), kind
    return found if found in REMOTE else None


def _plain(place: str) -> str:
    """The kernel writes blanks and backslashes as octal numbers."""
    for code in ("040", "011", "012", "134"):
        place = place.replace("\\" + code, chr(int(code, 8)))
    return place
