"""A mirror whose registry cannot even be asked, because the login for it has expired."""

from pathlib import Path
from typing import NoReturn

from registry.config.settings import load_settings
from registry.database import open_database
from registry.domain.source_entry import SourceEntry
from registry.mirrors.kept_log import KeptLog
from registry.mirrors.mirror import Mirror
from registry.mirrors.space import Space
from registry.outbound import OutboundError
from registry.sources.log_monitor import LogMonitor
from registry.transparency.checkpoint import Signer, Verifier
from registry.transparency.merkle import Tree, leaf_hash, root


def test_what_is_kept_is_served_without_a_credential(tmp_path: Path) -> None:
    def expired() -> NoReturn:
        raise OutboundError("the login has expired")

    tree = Tree()
    tree.append(leaf_hash(b"{}"))
    signer, kept = Signer(tmp_path, "example.org/log"), tmp_path / "kept"
    KeptLog(kept).extend(Verifier(signer.verifier_key), signer.sign(1, root(1, tree.subtree)), ["{}"])
    source = SourceEntry(name="corp", type="registry", url="https://registry.example.com", mirror=True)
    database = open_database(load_settings({"data_dir": str(tmp_path / "data")}, {}))
    mirror = Mirror(source, kept, expired, LogMonitor(database), Space(kept, 1 << 20))
    assert mirror.entries(0, 10) == ["{}"]
    database.close()
