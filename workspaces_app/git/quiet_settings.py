"""Pure: settings of a repository under which a push or fetch may carry credentials.

A list of what is known to be harmless there, not of what is known to be bad: git has hundreds of settings, and some
(`http.proxy`, `credential.helper`, `url.*.insteadOf`) send a token wherever the repository's author likes.
"""

from collections.abc import Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECTIONS = _words("""
user author committer branch pull merge mergetool diff difftool filter lfs alias color column commit tag rebase rerere
log status init advice gui i18n gc pack index feature submodule format blame stash worktree maintenance
""")
_KEYS = {
    "core": _words("""
repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf
hookspath fsmonitor untrackedcache excludesfile attributesfile quotepath longpaths abbrev editor pager checkstat
trustctime preloadindex sharedrepository commentchar whitespace worktree protecthfs protectntfs
"""),
    "remote": _words("""
url pushurl fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall promisor partialclonefilter
pushdefault
"""),
    "push": _words("default followtags autosetupremote recursesubmodules"),
    "fetch": _words("prune prunetags parallel writecommitgraph recursesubmodules"),
    "extensions": _words("objectformat worktreeconfig partialclone refstorage"),
}


def loud_settings(listed: Sequence[str]) -> list[str]:
    """Settings of the repository by which it could send a credential elsewhere, or run something that gets it.

    listed: `git config --list --show-scope --name-only -z`, scopes and names in turn.
    """
    pairs = zip(listed[::2], listed[1::2], strict=False)
    return sorted({name for scope, name in pairs if scope in ("local", "worktree") and not _is_quiet(name)})


def _is_quiet(name: str) -> bool:
    section, _, rest = name.lower().partition(".")
    return section in _SECTIONS or rest.rpartition(".")[2] in _KEYS.get(section, ())
