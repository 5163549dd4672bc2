"""Consistency checks: compares derived data with the sources of truth, and rebuilds it on request.

The sources of truth are the rows of the database, the bytes of published packages and the transparency log. The checks
never change them.
"""

from registry.ops.fsck.drift import Drift
from registry.ops.fsck.parts import Parts
from registry.ops.fsck.report import Report, inspect, inspect_unreadable

__all__ = ["Drift", "Parts", "Report", "inspect", "inspect_unreadable"]
