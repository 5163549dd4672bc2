"""Route handlers: typed input, one call, one answer."""
