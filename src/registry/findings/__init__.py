"""Looks for dangerous or hidden content in the texts of a skill. Findings are advice; they never change a skill."""
