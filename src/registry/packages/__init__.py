"""Skill packages of strangers: read into a staged folder or refused, and written.

A zip and a folder come in by two doors (`archive`, `source_folder`) and meet one set of rules (`paths`, `tree`,
`contents`, `statement`). Nothing an archive says of itself is believed: it is compared with what is read.
"""

from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import Package, Peek, peek, read_folder, read_zip, unpack
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused

__all__ = [
    "DEFAULT_LIMITS",
    "Package",
    "PackageLimits",
    "PackageRefused",
    "Peek",
    "pack",
    "peek",
    "read_folder",
    "read_zip",
    "unpack",
]
