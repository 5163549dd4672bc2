"""Reviews survive kills at any step: what is held and what is decided is there as a whole, or not at all."""

from pathlib import Path

import pytest

from support.endurance import times
from support.registry_stores import RegistryStores
from support.review_kills import Action, ReviewKills

KILLS = times(4)
ACTIONS: tuple[Action, ...] = ("hold", "approve", "reject")

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize("database", [None, "postgres"])
def test_a_kill_at_any_step_of_a_review_loses_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, database: str | None
) -> None:
    postgres = request.getfixturevalue(database) if database else None
    with RegistryStores(tmp_path, postgres) as stores:
        killing = ReviewKills(stores)
        hits: dict[Action, int] = {}
        for action in ACTIONS:
            steps = killing.steps(action)
            chosen = [1 + number * steps // KILLS for number in range(KILLS)]
            # How many steps an action takes varies, so that a late kill may find it done.
            hits[action] = sum(killing.kill(action, step) for step in chosen)
        assert min(hits.values()) > 0, hits
        assert sum(hits.values()) >= KILLS, hits
        killing.finish()
        ends = stores.check(killing.jobs)
        assert (ends["rejected"] >= KILLS, ends["accepted"] >= KILLS) == (True, True)
