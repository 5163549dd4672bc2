"""A clock that goes only when told to."""


class Clock:
    """Seconds since some moment; call it to read it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds
