"""Installs and upgrades skills from wherever their origin says."""
