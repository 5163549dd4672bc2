"""kill -9 at every step of `skill-registry admin migrate`: run again, it ends like a copy that nothing has disturbed.

    python benchmarks/kill_migrate.py [--kills 50] [--skills 1200] [--json OUT]

A catalog is copied from SQLite to PostgreSQL once to its end, and then into one empty database after the other, killed
after a step of the copy each time and run again. Counts and digests of all tables are compared with those of the first.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from results_file import keep
from support.migrate_kills import Migration, write_catalog
from support.postgres_server import PostgresServer


def run(kills: int, skills: int) -> dict[str, Any]:
    """Copy and kill; return what was seen."""
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as postgres:
        source = Path(folder) / "skill-registry.db"
        write_catalog(source, skills)
        migration, whole = Migration(source), postgres.new_database()
        steps, expected = migration.steps(whole), migration.run(whole)
        same = 0
        for number in range(kills):
            target = postgres.new_database()
            migration.steps(target, steps - number * steps // kills)
            same += migration.run(target) == expected
    return {"skills": skills, "steps of a copy": steps, "kills": kills, "ended like the first": same}


def main() -> None:
    """Run it once; exit with 1 where one copy differs."""
    parser = argparse.ArgumentParser(description="Kill a copy of a catalog at every step and run it again.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--skills", type=int, default=1200)
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results = run(arguments.kills, arguments.skills)
    Console().print(results)
    keep(arguments.json, results)
    sys.exit(results["ended like the first"] != results["kills"])


if __name__ == "__main__":
    main()
