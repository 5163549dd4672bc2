"""The sections of the specification, in the order in which they are run and shown."""

from registry.conformance.rows import Section
from registry.conformance.sections.access import ACCESS
from registry.conformance.sections.accounts import ACCOUNTS
from registry.conformance.sections.authentication import AUTHENTICATION
from registry.conformance.sections.bodies import BODIES
from registry.conformance.sections.conditional import CONDITIONAL
from registry.conformance.sections.envelope import ENVELOPE
from registry.conformance.sections.hostile import HOSTILE
from registry.conformance.sections.manifest import MANIFEST
from registry.conformance.sections.paging import PAGING
from registry.conformance.sections.private_scopes import PRIVATE_SCOPES
from registry.conformance.sections.probes import PROBES
from registry.conformance.sections.publishing import PUBLISHING
from registry.conformance.sections.search import SEARCH
from registry.conformance.sections.sign_in import SIGN_IN
from registry.conformance.sections.skills import SKILLS
from registry.conformance.sections.sources import SOURCES
from registry.conformance.sections.validation import VALIDATION
from registry.conformance.sections.versioning import VERSIONING
from registry.conformance.sections.versions import VERSIONS
from registry.conformance.sections.workflows import WORKFLOWS

SECTIONS: tuple[Section, ...] = (
    PROBES,
    VERSIONING,
    ENVELOPE,
    BODIES,
    PAGING,
    CONDITIONAL,
    AUTHENTICATION,
    ACCESS,
    SKILLS,
    VALIDATION,
    VERSIONS,
    SEARCH,
    SOURCES,
    MANIFEST,
    PUBLISHING,
    ACCOUNTS,
    WORKFLOWS,
    SIGN_IN,
    PRIVATE_SCOPES,
    HOSTILE,
)
