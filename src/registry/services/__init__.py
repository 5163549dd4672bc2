"""The application layer: each use case once, and the container that builds what they need."""
