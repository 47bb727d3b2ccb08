"""Who else may write in a workspace: the weakest of them decides what its files can be trusted with."""

from collections.abc import Callable

from halo_site.lib.access_level import Access

from .models import Membership, Workspace

Source = Callable[[Workspace], bool]
_sources: list[Source] = []


def on_weak_writers(source: Source) -> None:
    """A slot for upper apps: True when somebody else, for example a bot account, may write without full access."""
    _sources.append(source)


def weakest_writer(workspace: Workspace) -> Access:
    """WORKSPACE when anybody without full access may write there, else FULL."""
    weak = Membership.objects.filter(workspace=workspace, level=Access.WORKSPACE.value).exists()
    return Access.WORKSPACE if weak or any(source(workspace) for source in _sources) else Access.FULL
