"""Search over documents: words and vectors, each an index that follows the catalog, fused into one ranking."""
