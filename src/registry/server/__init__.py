"""Serves the application: sockets, the uvicorn server, worker processes and the checks before a start."""
