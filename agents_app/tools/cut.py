"""The two copies of a tool result: what the model gets and what people see. Every cut says so (spec tools 3.1)."""

from halo_site.lib.text import cut

MODEL_LIMIT = 8_000  # characters, general.limits.tool_result_render_chars
UI_LIMIT = 65_536  # characters, general.limits.tool_result_ui_chars


def model_copy(text: str, limit: int = MODEL_LIMIT) -> str:
    """At most `limit` characters of the result, then a line that advises a narrower call."""
    if len(text) <= limit:
        return text
    return (
        f"{cut(text, limit)}\n\n[Content truncated: {len(text)} chars total, showing first {limit}. "
        "Ask for less: a line range, a narrower pattern or path, or filter the command's output.]"
    )


def ui_copy(text: str, limit: int = UI_LIMIT) -> str:
    """At most `limit` characters for people; the rest can be read from the file or asked for again."""
    if len(text) <= limit:
        return text
    return (
        f"{cut(text, limit)}\n\n[Output truncated: {len(text)} chars total, showing first {limit}. "
        "Use file_read with a range to see more.]"
    )
