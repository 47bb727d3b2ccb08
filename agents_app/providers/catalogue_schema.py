"""The shape of a registry file `<home>/global/models/<providerId>.yaml` (spec models 2.1)."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from .wire import Family, Wire

_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class _Part(BaseModel):
    """Keys are camelCase in the file; unknown ones are kept out of our way, so that newer files still load."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")


class Choice(_Part):
    value: str
    label: str = ""

    @model_validator(mode="before")
    @classmethod
    def _plain_text(cls, value: Any) -> Any:
        return value if isinstance(value, dict | Choice) else {"value": str(value), "label": str(value)}


class PromptCaching(_Part):
    default: str | None = None
    ttl_presets: tuple[Choice, ...] = ()


class Thinking(_Part):
    mode: Literal["adaptive", "manual"] = "adaptive"
    default_enabled: bool = False
    default: str | None = None  # effort label; None = the first preset
    default_budget_tokens: int = Field(8192, ge=1, le=10_000_000)
    effort_presets: tuple[Choice, ...] = ()


class Verbosity(_Part):
    default: str = "low"
    presets: tuple[Choice, ...] = ()


class Capabilities(_Part):
    image: bool = False
    video: bool = False
    audio: bool = False
    prompt_caching: PromptCaching | None = None
    thinking: Thinking | None = None
    verbosity: Verbosity | None = None


class Pricing(_Part):
    """Per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)
    currency: str = Field("USD", min_length=3, max_length=3)


class ModelEntry(_Part):
    id: str = Field(min_length=1, max_length=200)
    display_name: str = ""
    max_output_tokens: int = Field(16384, ge=1, le=100_000_000)
    context_window: int | None = Field(None, ge=1, le=1_000_000_000)
    capabilities: Capabilities = Capabilities()
    pricing: Pricing | None = None
    wire: dict[str, Any] = {}  # what differs from the provider's `wire`


class SecretField(_Part):
    key: str = Field(min_length=1, max_length=64)
    description: str = ""
    description_zh: str = Field("", alias="description_zh")
    default: str = ""
    secret: bool = True
    optional: bool = False  # another one, or the server's own credentials, may stand in for it


class ProviderEntry(_Part):
    """One vendor. `family` picks the dialect; a vendor that copies a family without changes needs no code."""

    id: str = Field(pattern=_ID)
    family: Family = "chat"
    display_name: str = ""
    display_name_zh: str = Field("", alias="displayName_zh")
    description: str = ""
    description_zh: str = Field("", alias="description_zh")
    default_endpoint: str = ""
    endpoint_presets: tuple[str, ...] = ()
    default_model_id: str = ""
    secrets: tuple[SecretField, ...] = ()
    models: tuple[ModelEntry, ...] = ()
    suggestions: tuple[str, ...] = ()  # first questions the app offers (the demo has some)
    suggestions_zh: tuple[str, ...] = Field((), alias="suggestions_zh")
    wire: dict[str, Any] = {}

    @model_validator(mode="after")
    def _wires_are_known(self) -> "ProviderEntry":
        for model in self.models:
            self.wire_for(model.id)
        self.wire_for("")
        return self

    def model(self, model_id: str) -> ModelEntry | None:
        return next((model for model in self.models if model.id == model_id), None)

    @property
    def first_model(self) -> ModelEntry | None:
        return self.model(self.default_model_id) or (self.models[0] if self.models else None)

    def wire_for(self, model_id: str) -> Wire:
        model = self.model(model_id)
        return Wire.model_validate(self.wire | (model.wire if model else {}))
