"""Vector search in Milvus: an index that is filled from the catalog, and can be lost without loss."""
