"""Vector search: an index of a flat segment and an IVF segment, and the protocol for other implementations."""
