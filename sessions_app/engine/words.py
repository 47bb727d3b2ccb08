"""What a person reads when a model call failed: what happened, what is safe, what next (DESIGN 5, "Errors")."""

from agents_app.providers.contract import ErrorKind, ProviderError

from .retry import Retry
from .setup import Setup


def explain_failure(error: ProviderError, setup: Setup) -> str:
    """One or two sentences; the vendor's own words are kept."""
    name = setup.provider_name
    match error.kind:
        case ErrorKind.ACCOUNT:
            status = f" ({error.status})" if error.status else ""
            return (
                f"{name} refused the account or key{status}. Nothing was lost. "
                f"Check the key in Settings, then send again. [{error}]"
            )
        case ErrorKind.OVERFLOW:
            return (
                f"The conversation no longer fits into {setup.config.model} "
                f"({setup.config.context_window:,} tokens). {setup.sizes()} "
                f"Shorten what is too big or start a new session. [{error}]"
            )
        case ErrorKind.THROTTLE:
            return f"{name} is limiting requests and did not let go. Nothing was lost; send again later. [{error}]"
        case ErrorKind.SERVER | ErrorKind.NETWORK | ErrorKind.EMPTY:
            return f"{name} did not answer after several tries. Nothing was lost; send again. [{error}]"
        case _:
            return f"{name} refused the request. [{error}]"


def explain_changes(setup: Setup) -> str:
    parts = ", ".join(name.replace("_", " ") for name in setup.changed)
    return f"{setup.agent.name} was changed since the last turn ({parts}). This turn works with the new version."


def explain_fallback(error: ProviderError, setup: Setup, following: Setup) -> str:
    """Says which model goes on, as its answers may differ in quality and price."""
    return (
        f"{setup.provider_name} did not answer after several tries. "
        f"Going on with {following.config.model} of {following.provider_name}. [{error}]"
    )


def explain_retry(error: ProviderError, setup: Setup, verdict: Retry) -> str:
    if verdict.drop_images:
        return f"{setup.provider_name} could not process an image. The model goes on without the images."
    wait = f" Trying again in {verdict.seconds:.0f} s." if verdict.seconds >= 1 else " Trying again."
    return f"{error}.{wait}" if not str(error).endswith(".") else f"{error}{wait}"
