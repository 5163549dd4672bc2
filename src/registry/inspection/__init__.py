"""Scans of untrusted texts and unpacking of untrusted packages, in child processes with limits of time and memory.

A regular expression, a decompressor and a parser hold the interpreter lock, so none of them handles untrusted bytes in
the process that answers requests. `inspector` is the interface for the service, `process` manages one child process,
`child` runs in it, and `messages` is the protocol between them.
"""

from registry.inspection.inspector import InspectedPackage, InspectionStopped, Inspector, NotScanned
from registry.inspection.messages import RecordTexts

__all__ = ["InspectedPackage", "InspectionStopped", "Inspector", "NotScanned", "RecordTexts"]
