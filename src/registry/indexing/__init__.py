"""Builds and maintains the search indexes of one catalog: engine factory, backfill, snapshots and reindexing."""
