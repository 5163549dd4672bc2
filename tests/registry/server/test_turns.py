"""Turns of connections: in order, a few in each step of the event loop, whatever one of them does."""

import asyncio
from collections.abc import Callable

from registry.server.turns import Turns


def test_turns_come_in_order_and_others_come_in_between() -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    turns, order = Turns(), []

    def work(number: int) -> Callable[[], None]:
        def call() -> None:
            order.append(number)
            if number == 3:
                raise ValueError

        return call

    async def other() -> None:
        while len([number for number in order if number >= 0]) < 40:
            order.append(-1)
            await asyncio.sleep(0)

    for number in range(40):
        turns.take(loop, work(number))
    loop.run_until_complete(other())
    loop.close()
    assert [number for number in order if number >= 0] == list(range(40))
    assert order.count(-1) >= 10
