"""Clocks that go only when told to."""

import datetime


class Clock:
    """Seconds since some moment; call it to read it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


class WallClock:
    """The time of day, which goes only when told to; call it to read it."""

    def __init__(self) -> None:
        self.now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += datetime.timedelta(seconds=seconds)

    @property
    def seconds(self) -> int:
        """The seconds since 1970."""
        return int(self.now.timestamp())
