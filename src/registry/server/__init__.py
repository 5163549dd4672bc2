"""Serves the application: its routes, sockets, the uvicorn server, worker processes and the checks before a start."""
