"""Scans the texts of a skill for dangerous or hidden content. Findings are advice and never change a skill."""
