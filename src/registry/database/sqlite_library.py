"""Imports sqlite-utils without pandas, which it would load where it is installed: half a second and a thread."""

import sys

_is_absent = "pandas" not in sys.modules
if _is_absent:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # an import of it fails, as if it were not installed
try:
    import sqlite_utils
finally:
    if _is_absent:
        del sys.modules["pandas"]

__all__ = ["sqlite_utils"]
