"""Keyword search: a BM25 index with a segment on disk and a segment in memory."""
