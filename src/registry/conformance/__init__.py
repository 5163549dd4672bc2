"""The rows of the HTTP specification, run against any service over HTTP. Knows nothing of how this one is built."""
