"""Base of the request and answer bodies: snake_case in Python, camelCase on the wire.

router = Router(by_alias=True)          # answers use the wire names

class RenameIn(ApiSchema):
    project_id: str                     # wire: projectId
    title: str

Names are those of the OpenAPI description and of the browser's types: each only once in the whole API.
"""

from ninja import Schema
from pydantic import ConfigDict

from .events import camel


class ApiSchema(Schema):
    model_config = ConfigDict(alias_generator=camel, populate_by_name=True)


class Ok(ApiSchema):
    """It is done, and there is nothing more to say."""

    ok: bool = True
