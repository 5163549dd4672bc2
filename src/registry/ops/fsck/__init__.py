"""Do the stores of a catalog agree? What is derived is compared with the truth, and made anew where that is asked for.

Truth is the rows of the database, the bytes of published packages and the transparency log; none of it is ever touched.
"""

from registry.ops.fsck.drift import Drift
from registry.ops.fsck.parts import Parts
from registry.ops.fsck.report import Report, inspect

__all__ = ["Drift", "Parts", "Report", "inspect"]
