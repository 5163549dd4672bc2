"""What the registry profile has beyond the local one: who gets in, how tokens are issued, figures."""

from collections.abc import Callable
from datetime import datetime

from registry.auth.access import Access
from registry.auth.issuing import TokenIssuer, issuer_mode
from registry.db import Database
from registry.metrics import Metrics
from registry.settings import Settings
from registry.transparency.checkpoint import Signer
from registry.transparency.log import TransparencyLog
from search.engine import Engine


class RegistryProfile:
    """The services of the registry profile. Raises WeakSecret."""

    def __init__(self, settings: Settings, database: Database, engine: Engine, clock: Callable[[], datetime]) -> None:
        self.metrics = Metrics(engine, database)
        self.signer = Signer(settings.data_dir, settings.transparency.name)
        self.log = TransparencyLog(database, clock)
        self.log.note_key(self.signer.verifier_key)
        self.access = Access(settings, database, clock)
        self.issuer = TokenIssuer(self.access, issuer_mode(settings))

    def close(self) -> None:
        """Finish what is left to write down."""
        self.access.close()
