"""Measures search quality over labelled queries: measures, rankings to compare with, and their intervals."""
