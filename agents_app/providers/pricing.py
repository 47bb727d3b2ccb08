"""What a call cost. Pure."""

from .catalogue_schema import Pricing
from .contract import Usage


def cost_micros(usage: Usage, pricing: Pricing | None) -> int | None:
    """Millionths of the currency unit; None when no price is known (never 0 for "unknown").

    A price is per million tokens, so tokens x price is the number of micros. A missing cache price counts as the price
    of uncached input.
    """
    if pricing is None:
        return None
    cache_read = pricing.input if pricing.cache_read is None else pricing.cache_read
    cache_write = pricing.input if pricing.cache_write is None else pricing.cache_write
    return round(
        usage.input_tokens * pricing.input
        + usage.output_tokens * pricing.output
        + usage.cache_read_tokens * cache_read
        + usage.cache_write_tokens * cache_write
    )
