"""The path of the HTTP API, shared by the service and its clients."""

API = "/api/v1"
"""The prefix of every versioned route."""
