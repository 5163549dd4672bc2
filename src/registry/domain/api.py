"""The address of the HTTP API, for the service that answers it and the clients that call it."""

API = "/api/v1"
"""The prefix of every versioned route."""
