"""Coroutines that wait for a change: woken from any thread, limited in number, released by a stop."""

import asyncio
import threading

from registry.runtime.change_signal import ChangeSignal
from support.waiting import PATIENCE_SECONDS


def test_a_change_in_another_thread_wakes_all() -> None:
    signal = ChangeSignal(10)

    async def run() -> list[bool]:
        waiting = [asyncio.create_task(signal.wait(signal.next_change(), PATIENCE_SECONDS)) for _ in range(3)]
        await asyncio.sleep(0)
        threading.Thread(target=signal.notify).start()
        return await asyncio.gather(*waiting)

    assert asyncio.run(run()) == [True, True, True]


def test_a_change_before_the_wait_is_not_missed() -> None:
    signal = ChangeSignal(10)

    async def run() -> bool:
        change = signal.next_change()
        signal.notify()
        await asyncio.sleep(0)
        return await signal.wait(change, PATIENCE_SECONDS)

    assert asyncio.run(run()) is True


def test_who_exceeds_the_capacity_does_not_wait() -> None:
    signal = ChangeSignal(1)

    async def run() -> list[bool]:
        change = signal.next_change()
        first = asyncio.create_task(signal.wait(change, PATIENCE_SECONDS))
        await asyncio.sleep(0)
        refused = await signal.wait(change, PATIENCE_SECONDS)
        signal.notify()
        woken = await first
        again = asyncio.create_task(signal.wait(signal.next_change(), PATIENCE_SECONDS))
        await asyncio.sleep(0)
        signal.notify()
        return [refused, woken, await again]

    assert asyncio.run(run()) == [False, True, True]


def test_nobody_waits_once_it_is_closed() -> None:
    signal = ChangeSignal(10)

    async def run() -> list[bool]:
        change = signal.next_change()
        waiting = asyncio.create_task(signal.wait(change, PATIENCE_SECONDS))
        await asyncio.sleep(0)
        signal.close()
        return [await waiting, await signal.wait(signal.next_change(), PATIENCE_SECONDS)]

    assert asyncio.run(run()) == [False, False]


def test_without_a_change_the_wait_ends() -> None:
    signal = ChangeSignal(10)

    async def run() -> bool:
        return await signal.wait(signal.next_change(), 0.001)

    assert asyncio.run(run()) is False
