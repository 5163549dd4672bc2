"""Skills: list, read, create, change, remove; their text and their files. Ids may have a scope: `name` or `scope/name`."""

import mimetypes
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from anyio import to_thread
from litestar import Request, Response, delete, get, post, put
from litestar.params import Parameter

from registry.envelope import Ok, Pagination
from registry.markdown import render_markdown
from registry.models import Card, NewSkill, Skill, SkillChanges
from registry.services import Services
