"""Keeps the search indexes of one catalog: engine factory, embedding backfill, snapshots and reindexing."""
