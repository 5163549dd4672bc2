"""What the requests of `/v1/skills` declare: cursors, and bodies that are JSON or files."""

from dataclasses import dataclass
from typing import Annotated, Literal

from litestar.enums import RequestEncodingType
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import QueryParameter

from registry.errors import FieldError, validation_error
from registry.http.query_params import Page

_ID = 'The id of the last item on the page before: its "last_id"'
After = Annotated[str, QueryParameter(max_length=130, description=_ID)]
PageToken = Annotated[str, QueryParameter(name="page", max_length=130, description='The "next_page" before')]
Order = Annotated[Literal["asc", "desc"], QueryParameter(description="Oldest or newest first")]


@dataclass
class FilesOrJson(Operation):
    """The body in the OpenAPI document: files, which are never decoded as a whole, or JSON."""

    def __post_init__(self) -> None:
        file = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)
        described = "The files of a skill with their paths as file names, or one zip of them"
        files = Schema(type=OpenAPIType.ARRAY, items=file, description=described)
        form = Schema(type=OpenAPIType.OBJECT, required=["files"], properties={"files": files})
        fields = Schema(type=OpenAPIType.OBJECT, description="The same body as below `/api/code/v1`")
        content = {
            RequestEncodingType.MULTI_PART.value: OpenAPIMediaType(schema=form),
            RequestEncodingType.JSON.value: OpenAPIMediaType(schema=fields),
        }
        self.request_body = RequestBody(content=content, required=True)


def cursor(page: Page, after: str, token: str) -> str | None:
    """Return the id that a page starts behind, if any. Raises VALIDATION_ERROR for an offset besides."""
    start = after or token or None
    if page.offset and start is not None:
        raise validation_error(FieldError("offset", "cannot be combined with after or page"))
    return start
