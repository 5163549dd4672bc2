"""Vector search: a flat segment, an IVF segment, and the index that is made of both."""
