"""Hybrid search over documents: a keyword index and a vector index, synchronised with the catalog and fused."""
