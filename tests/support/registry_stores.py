"""What the servers of a registry share, and whether all of it tells the same of what was published."""

import hashlib
import json
import secrets
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.db import DatabaseUnavailable
from registry.transparency.checkpoint import Verifier
from registry.transparency.merkle import leaf_hash, node_hash
from support.commands import Done
from support.git_server import _BLANK, GitServer
from support.lying_bucket import LyingBucket
from support.postgres_server import PostgresServer
from support.publishing import Registry, bare_repository
from support.s3 import KEYS, SeaweedFS

_ENDS = "new.state in ('accepted', 'rejected')"
_NOTE = "insert into job_ends values (new.id, new.state)"
_READ_ATTEMPTS = 10
_EMBEDDED_SECONDS = 120
_WATCH_SQLITE = (f"create trigger watch_ends after update of state on publish_jobs when {_ENDS} begin {_NOTE}; end",)
_WATCH_POSTGRESQL = (
    f"create function note_end() returns trigger as $$ begin {_NOTE}; return new; end $$ language plpgsql",
    "create trigger watch_ends after update of state on publish_jobs for each row"
    f" when ({_ENDS}) execute function note_end()",
)


class Version(NamedTuple):
    """One published version, as any of the stores tells it."""

    skill_id: str
    version: str
    checksum: str


def _has_files(folder: Path, names: set[str]) -> bool:
    return {path.name for path in folder.iterdir()} == names


class RegistryStores:
    """A database, a store of packages and an index behind HTTP, and servers over them with data folders of their own.

    SQLite and a folder unless a PostgreSQL server and a bucket are given; those are needed by more than one server.
    `search` has the variables of the model and of the store of vectors.
    """

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer | None = None,
        bucket: SeaweedFS | LyingBucket | None = None,
        search: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._bucket = bucket
        self._hub = GitServer(folder / "hub")
        self.remote = bare_repository(folder / "hub" / "index" / ".git")
        subprocess.run(["git", "-C", self.remote, "config", "http.receivepack", "true"], check=True, env=_BLANK)
        self._index = ("--registry-index-url", self._hub.url("index"))
        self.servers: list[Registry] = []
        file = folder / "server-0" / "data" / "skill-registry.db"
        self._url = DatabaseUrl(postgres.new_database() if postgres else f"sqlite:///{file}")
        database = {} if self._url.file else {"SKILL_REGISTRY_DATABASE_URL": self._url.reveal()}
        self.environment = database | (KEYS if bucket else {}) | dict(search or {})
        self._has_vectors = bool(search)
        self.scope = f"s{secrets.token_hex(4)}"
        """Whose packages are published, so that several tests can share a bucket."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()
        self._hub.__exit__()

    def server(self, *args: str) -> Registry:
        """Start one more server."""
        folder = self._folder / f"server-{len(self.servers)}"
        if self.servers:  # one log, one key
            (folder / "data").mkdir(parents=True)
            shutil.copy(self.servers[0].data_dir / "log.key", folder / "data" / "log.key")
        store = self._bucket.flags() if self._bucket else ()
        model = ("--embedding-provider", "local") if self._has_vectors else ()
        made = Registry(folder, *store, *self._index, *model, *args, env=self.environment)
        self.servers.append(made.start())
        if len(self.servers) == 1:
            self._watch_ends()
        return made

    def caller(self) -> dict[str, str]:
        """Return the header of one who publishes."""
        return self.servers[0].caller(f"{self.scope}/ann")

    def _watch_ends(self) -> None:
        with closing(open_url(self._url)) as database, database.write() as transaction:
            transaction.execute("create table job_ends (id text not null, state text not null)")
            for statement in _WATCH_SQLITE if self._url.file else _WATCH_POSTGRESQL:
                transaction.execute(statement)

    def read(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the database. A busy server is asked again: to connect has a time-out of two seconds."""
        for attempts_left in reversed(range(_READ_ATTEMPTS)):
            try:
                with closing(open_url(self._url)) as database:
                    return database.read(sql)
            except DatabaseUnavailable:
                if not attempts_left:
                    raise
        raise AssertionError

    def is_settled(self) -> bool:
        """Return whether no job is open and the index has everything."""
        live = "select 1 from publish_jobs where state in ('pending', 'validating')"
        return not self.read(f"{live} union select 1 from index_files where pushed < wanted")

    def check(self, acknowledged: set[str]) -> Counter[str]:
        """Assert that every acknowledged job has ended, once, and that every store tells the same of what was accepted.

        The catalog must hold the latest of it and nothing else. Returns how many jobs have ended in which way.
        """
        ends = self.check_published(acknowledged)
        skills = {row[0] for row in self.read("select skill_id from published")}
        assert {row[0] for row in self.read("select id from skills")} == skills
        for server in self.servers:
            for skill_id in skills:
                assert server.get(f"/api/v1/skills/{skill_id}").status_code == 200
        return ends

    def _fsck(self, server: Registry, leftovers: set[str]) -> None:
        """Assert that `skill-registry admin fsck` finds nothing amiss with what all share and what this server derives.

        Packages in the bucket that another test has published do not count. `leftovers` are those it may find left.
        """
        done = Done(self._folder, "fsck", "--json", *self.fsck_flags(server, server.data_dir), **self.environment)
        assert done.code in (0, 1), done.error
        ours = f"skills/{self.scope}/"
        drift = [one for one in done.json["drift"] if one["area"] != "blobs" or one["thing"].startswith(ours)]
        assert {one["thing"] for one in drift if one["area"] == "blobs"} == leftovers
        drift = [one for one in drift if one["area"] != "blobs"]
        assert (drift, done.json["unchecked"]) == ([], {})

    def fsck_flags(self, server: Registry, data_dir: Path) -> list[str]:
        """Return the flags that lead `fsck` to these stores, with the data directory of a server or a copy of it."""
        folders = ("--data-dir", str(data_dir), "--skills-dir", str(server.skills_dir))
        store = self._bucket.flags() if self._bucket else ("--blobs-dir", str(server.blobs))
        return [*folders, *store, *self._index]

    def check_published(self, acknowledged: set[str], *, bears_faults: bool = False) -> Counter[str]:
        """Do the same without the catalog, which may hold more and less than what was published.

        With `bears_faults`, a package may have been rejected after it was stored, also with other bytes, where the
        process died before it could remove them: `fsck` must find it then. The package of a job that was set aside may
        always be there.
        """
        sql = "select id, state, skill_id, version, checksum from publish_jobs"
        jobs = {row[0]: row[1:] for row in self.read(sql)}
        set_aside = {row[0] for row in self.read(f"{sql} where set_aside = 1")}
        ends = self.read("select id, state from job_ends")
        assert sorted(ends) == sorted((job, row[0]) for job, row in jobs.items())
        assert acknowledged <= jobs.keys()
        accepted = sorted(Version(*row[1:]) for row in jobs.values() if row[0] == "accepted")
        assert self._rows() == accepted
        rejected = {
            row[1:3] for job, row in jobs.items() if row[0] == "rejected" and (bears_faults or job in set_aside)
        }
        stored = self._blobs()
        left = {*stored} - {*accepted}  # a bucket that lies may have made other bytes of them
        assert sorted({*stored} - left) == accepted, "packages that were accepted are not stored"
        assert {version[:2] for version in left} <= rejected, "packages are stored that no job has brought"
        leftovers = {f"skills/{skill_id}-{version}.zip" for skill_id, version, _ in left}
        assert self._lines() == accepted
        assert self._logged() == accepted
        self._check_indexes()
        self._check_leftovers()
        for server in self.servers:
            self._fsck(server, leftovers)
        return Counter(state for _, state in ends)

    def _rows(self) -> list[Version]:
        return sorted(Version(*row) for row in self.read("select skill_id, version, checksum from published"))

    def _blobs(self) -> list[Version]:
        if self._bucket:
            keys = [key for key in self._bucket.stored() if key.startswith(f"skills/{self.scope}/")]
            opened = {key: self._bucket.client.get_object(Bucket="packages", Key=key)["Body"].read() for key in keys}
        else:
            root = self.servers[0].blobs
            opened = {
                str(path.relative_to(root)): path.read_bytes()
                for path in (root / "skills").rglob("*")
                if path.is_file()
            }
        found = []
        for key, data in opened.items():
            skill_id, _, version = key.removeprefix("skills/").removesuffix(".zip").rpartition("-")
            found.append(Version(skill_id, version, f"sha256:{hashlib.sha256(data).hexdigest()}"))
        return sorted(found)

    def _lines(self) -> list[Version]:
        paths = [path for path in self._index_paths() if "/" in path and "." not in path]
        lines = [json.loads(line) for path in paths for line in self._git("show", f"main:{path}").splitlines()]
        return sorted(Version(line["name"], line["vers"], line["cksum"]) for line in lines)

    def _index_paths(self) -> list[str]:
        return self._git("ls-tree", "-r", "--name-only", "main").splitlines() if self._git("branch") else []

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.remote), *arguments]
        return subprocess.run(command, env=_BLANK, capture_output=True, text=True, check=True).stdout

    def _logged(self) -> list[Version]:
        """Return what the log says, after its tree, of the entries alone, was found to be the one that is signed."""
        rows = self.read("select number, entry from log_entries order by number")
        assert [row[0] for row in rows] == list(range(len(rows)))
        hashes = [leaf_hash(row[1].encode()) for row in rows]
        verifier = Verifier(self.servers[0].get("/api/v1/log/key").json()["data"]["key"])
        for server in self.servers:
            state = verifier.read(server.get("/api/v1/log/checkpoint").text)
            assert (state.size, state.root) == (len(rows), _root(hashes))
        for path in self._index_paths():
            if "/" not in path:
                state = verifier.read(self._git("show", f"main:{path}"))
                assert state.root == _root(hashes[: state.size])
        entries = [json.loads(row[1]) for row in rows]
        told = [one for one in entries if one["kind"] == "publish"]
        return sorted(Version(one["skill_id"], one["version"], one["sha256"]) for one in told)

    def _check_indexes(self) -> None:
        """Assert that every server's indexes have what the catalog has, once a search was made."""
        for server in self.servers:
            caller = server.caller()
            assert server.http.get("/api/v1/search", params={"q": "skill"}, headers=caller).is_success
            if self._has_vectors:
                server.wait_for(partial(self._is_embedded, server, caller), _EMBEDDED_SECONDS)
            assert server.http.get("/api/v1/status", headers=caller).json()["data"]["drift"] == 0

    def _is_embedded(self, server: Registry, caller: dict[str, str]) -> bool:
        status = server.http.get("/api/v1/status", headers=caller).json()["data"]
        return bool(status["pending"] == 0 and status["drift"] == 0)

    def _check_leftovers(self) -> None:
        """Assert that there are no packages but those of jobs that can be retried, and no parts of any."""
        sql = (
            "select id from publish_jobs j where set_aside = 1 and not exists"
            " (select 1 from published p where p.skill_id = j.skill_id and p.version = j.version)"
        )
        kept = {row[0] for row in self.read(sql)}
        rows, files = (set(), {f"{job}.zip" for job in kept}) if self._url.file else (kept, set())
        spooled = "select distinct job_id from spooled_packages"
        self.servers[0].wait_for(lambda: {row[0] for row in self.read(spooled)} == rows)
        for server in self.servers:
            server.wait_for(partial(_has_files, server.data_dir / "publish", files))
            assert not list(server.data_dir.rglob(".skill-registry-*"))
            assert not [path for path in server.blobs.rglob(".skill-registry-*") if path.is_file()]
        if self._bucket:
            assert not self._bucket.client.list_multipart_uploads(Bucket="packages").get("Uploads", [])


def _root(hashes: list[bytes]) -> bytes:
    """Return the root of a tree as RFC 6962 defines it."""
    if len(hashes) < 2:
        return hashes[0]
    middle = 1 << (len(hashes) - 1).bit_length() - 1
    return node_hash(_root(hashes[:middle]), _root(hashes[middle:]))
