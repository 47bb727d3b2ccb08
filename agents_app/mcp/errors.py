"""What can go wrong with a server. Each text names it, and is masked by whoever made it."""

from halo_site.lib.errors import HaloError


class McpFailed(HaloError):
    """The server did not do what it was asked; it may go on."""

    status, code = 502, "mcp_failed"


class McpDown(McpFailed):
    """There is no connection to the server, or it just ended."""

    code = "mcp_down"
