"""The names of search modes and match kinds. This module loads no numeric library, so clients can use it too."""

from typing import Literal

Mode = Literal["auto", "hybrid", "semantic", "keyword"]
RanMode = Literal["hybrid", "semantic", "keyword"]
Relevance = Literal["high", "medium", "low", "keyword"]
MatchedBy = Literal["name", "keyword", "semantic"]
