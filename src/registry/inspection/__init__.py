"""Scans of untrusted texts and unpacking of untrusted packages, in child processes with limits of time and memory.

A regular expression, a decompressor and a parser hold the interpreter lock, so none of them handles untrusted bytes in
the process that answers requests. `inspector` is the interface for the service, `process` manages one child process,
`child` runs in it, and `messages` is the protocol between them. Nothing is imported here, because a child process needs
no more than `child` imports.
"""
