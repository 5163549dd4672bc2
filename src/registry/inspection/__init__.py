"""Untrusted texts and packages, looked into in a process of their own with a limit of time and of memory.

A regular expression, an inflater and a parser hold the interpreter's lock while they work, so none of them runs on
somebody else's bytes in the process that answers requests. `process` is one such child process, `child` what runs in
it, `messages` what both say to each other, and `inspector` what the service asks.
"""

from registry.inspection.inspector import InspectedPackage, InspectionStopped, Inspector, NotScanned

__all__ = ["InspectedPackage", "InspectionStopped", "Inspector", "NotScanned"]
