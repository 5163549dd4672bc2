"""Installs and upgrades skills from their origins."""
