"""Who a person is here: the user name, the role and the scope, from the claims of an identity token."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from registry.auth.oidc.issuers import AssertionInvalid
from registry.auth.users import Person
from registry.config.groups import SignInSettings
from registry.domain.roles import Role

PEOPLE = "people"
"""The scope of people whose group gives them none: no name that they choose at the issuer is a scope of skills."""

EVERYBODY = "*"
_NAME_CHARACTERS = 64


class NotAdmitted(Exception):
    """A person is in no group that may sign in here."""


class _Right(NamedTuple):
    """What the people of a group may do."""

    group: str
    role: Role
    scope: str


class Groups:
    """Reads claims by the settings `auth.oidc`.

    Args:
        settings: The settings.
    """

    def __init__(self, settings: SignInSettings) -> None:
        self._settings = settings
        self._rights = [_right(text) for text in settings.groups]

    def person(self, issuer: str, claims: Mapping[str, Any]) -> Person:
        """Return who a person is here.

        Raises AssertionInvalid for claims without a subject or a usable name, NotAdmitted for a person in no group
        that the settings name.
        """
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise AssertionInvalid("it names no person (sub)")
        groups = claims.get(self._settings.groups_claim)
        named = {group for group in groups if isinstance(group, str)} if isinstance(groups, list) else {groups}
        right = next((right for right in self._rights if right.group == EVERYBODY or right.group in named), None)
        if right is None:
            raise NotAdmitted
        name = _name(claims.get(self._settings.name_claim))
        if not name:
            raise AssertionInvalid(f"it has no user name ({self._settings.name_claim})")
        return Person(issuer, subject, f"{right.scope}/{name}", right.role, right.scope)


def _right(text: str) -> _Right:
    group, _, right = text.rpartition("=")
    role, _, scope = right.partition("@")
    return _Right(group, msgspec.convert(role, Role), scope or PEOPLE)


def _name(value: object) -> str:
    """Return a name as user names are, empty for a value without one. Two names may become the same."""
    name = re.sub(r"[^a-z0-9_-]+", "-", value.casefold()) if isinstance(value, str) else ""
    return name.strip("-_")[:_NAME_CHARACTERS].rstrip("-_")


def subject_of(claims: Mapping[str, Any]) -> str:
    """Return the id of a person at the issuer, empty where there is none."""
    subject = claims.get("sub")
    return subject if isinstance(subject, str) else ""
