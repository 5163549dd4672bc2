"""Reads untrusted skill packages into a staging folder, or refuses them; also writes packages.

Zips (`archive`) and folders (`source_folder`) are subject to the same rules (`paths`, `tree`, `contents`, `metadata`).
All information in an archive is checked against the bytes that are read.
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
