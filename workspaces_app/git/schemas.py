"""Bodies and answers of the git routes (spec http-api, git)."""

from typing import Literal

from pydantic import Field

from halo_site.lib.schema import ApiSchema, Ok


class ProjectIn(ApiSchema):
    project_id: str | None = None


class PathsIn(ProjectIn):
    paths: list[str] = []


class MessageIn(ProjectIn):
    message: str = ""


class RemoteIn(ProjectIn):
    name: str = "origin"
    url: str = ""


class ProtocolIn(ProjectIn):
    to: Literal["https", "ssh"]


class CredentialIn(ApiSchema):
    host: str = ""
    username: str = ""
    token: str = ""


class UnlockIn(ApiSchema):
    key_path: str = ""
    passphrase: str = ""


class ChangedFile(ApiSchema):
    path: str
    index: str  # one porcelain character, blank = unchanged
    working_dir: str
    source: str | None = Field(None, alias="from")
    conflicted: bool = False


class StatusOut(ApiSchema):
    is_repo: bool
    branch: str | None = None  # None = HEAD is detached
    head: str | None = None  # full hash; None = no commit yet
    tracking: str | None = None
    ahead: int = 0
    behind: int = 0
    state: Literal["merge", "rebase", "cherry-pick", "revert", "bisect"] | None = None  # what is unfinished
    files: list[ChangedFile] = []
    truncated: bool = False  # there are more than 10,000


class IgnoredOut(ApiSchema):
    is_repo: bool | None = None
    ignored: list[str]


class DiffOut(ApiSchema):
    path: str
    original: str
    modified: str
    binary: bool = False  # then both texts are empty


class CommitEntry(ApiSchema):
    hash: str
    short_hash: str
    message: str  # first line
    body: str
    author: str
    date: int  # Unix milliseconds
    refs: str
    pushed: bool


class LogOut(ApiSchema):
    commits: list[CommitEntry]


class CommitFile(ApiSchema):
    path: str
    status: str
    source: str | None = Field(None, alias="from")


class CommitFilesOut(ApiSchema):
    files: list[CommitFile]


class RemoteEntry(ApiSchema):
    name: str
    url: str  # without a password


class RemotesOut(ApiSchema):
    remotes: list[RemoteEntry]


class CommittedOut(Ok):
    hash: str


class ProtocolOut(ApiSchema):
    url: str
    protocol: Literal["https", "ssh", "other"]


class SwitchedOut(Ok):
    url: str


class CredentialEntry(ApiSchema):
    host: str
    username: str


class CredentialsOut(ApiSchema):
    """warning: for the person who sees this list; None = nothing is saved."""

    credentials: list[CredentialEntry]
    warning: str | None = None


class DeployKeyOut(ApiSchema):
    public_key: str | None  # to give to the host of the repository; None = there is no key


class KeyEntry(ApiSchema):
    name: str
    path: str
    encrypted: bool


class KeysOut(ApiSchema):
    keys: list[KeyEntry]


class SshAgentOut(ApiSchema):
    agent_running: bool
    loaded_keys: list[str]


class UnlockedOut(ApiSchema):
    ok: bool
    error: str | None = None
