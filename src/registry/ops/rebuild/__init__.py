"""Rebuilds the database of a registry from its packages and from the index, which has the transparency log.

The log is the authority: nothing is taken from the index that its signed checkpoint does not cover, except the times at
which versions were published. A service that continues on the result extends the same log.
"""

from registry.ops.rebuild.recorded import RebuildRefused
from registry.ops.rebuild.replay import RebuildReport, rebuild

__all__ = ["RebuildRefused", "RebuildReport", "rebuild"]
