"""Reads untrusted skill packages into a staging folder, or refuses them; also writes packages.

Zips (`archive`) and folders (`source_folder`) are subject to the same rules (`paths`, `tree`, `contents`, `metadata`).
All information in an archive is checked against the bytes that are read.
"""
