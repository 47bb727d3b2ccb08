"""The OpenAPI description says what every route has in common: the shape of an error."""

from typing import Any

from ninja import NinjaAPI

ERROR = {
    "title": "ErrorOut",
    "type": "object",
    "properties": {"error": {"title": "Error", "type": "string", "description": "What was wrong, for a person"}},
    "required": ["error"],
}


class DescribedAPI(NinjaAPI):
    def get_openapi_schema(self, **options: Any) -> Any:
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"]["ErrorOut"] = ERROR
        for item in schema["paths"].values():
            for operation in item.values():
                operation["responses"].setdefault("default", _ERROR_ANSWER)
        return schema


_ERROR_ANSWER = {
    "description": "Every answer outside 2xx that is not listed",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}},
}
