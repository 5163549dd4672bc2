"""Agentic Resource Discovery, draft 0.9: programs that search registries search this one."""

from registry.protocols.ard.routes import ARD

__all__ = ["ARD"]
