"""The keyring of the system, such as the Secret Service, KWallet or Keychain, through the library `keyring`.

The library is the extra `keyring`. It is loaded only when a token is stored there, or has been.
"""

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any


class NoKeyring(Exception):
    """There is no keyring: the extra is not installed, or the library finds none that it can use."""


class KeyringFailed(Exception):
    """The keyring did not do what was requested; the message says why, without any secret."""


class SystemKeyring:
    """The secrets of one service in the keyring, by name.

    A keyring may ask its owner to unlock it, and some never answer. So each call ends after `seconds`, and after one
    that failed the keyring is not asked again.

    All methods raise NoKeyring, KeyringFailed.
    """

    def __init__(self, service: str, seconds: float) -> None:
        self._service = service
        self._seconds = seconds
        self._failure: KeyringFailed | None = None

    def find(self, name: str) -> str | None:
        """Return a secret, or None."""
        secret = self._ask(lambda keyring: keyring.get_password(self._service, name))
        return None if secret is None else str(secret)

    def store(self, name: str, secret: str) -> None:
        """Store a secret in place of the previous one of the name, and read it again: some keyrings keep nothing."""

        def put(keyring: Any) -> bool:
            keyring.set_password(self._service, name, secret)
            return bool(keyring.get_password(self._service, name) == secret)

        if not self._ask(put):
            raise KeyringFailed("it does not return what it was given")

    def delete(self, name: str) -> None:
        """Delete a secret, if there is one."""

        def remove(keyring: Any) -> None:
            if keyring.get_password(self._service, name) is not None:
                keyring.delete_password(self._service, name)

        self._ask(remove)

    def _ask(self, call: Callable[[Any], Any]) -> Any:
        if self._failure is not None:
            raise self._failure
        answers: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()
        # The process ends although this thread still waits for a keyring.
        threading.Thread(target=partial(_answer, call, answers), name="keyring", daemon=True).start()
        try:
            answer, error = answers.get(timeout=self._seconds)
        except queue.Empty:
            answer, error = None, KeyringFailed(f"it has not answered within {self._seconds:g} seconds")
        if isinstance(error, KeyringFailed):
            self._failure = error
        if error is not None:
            raise error
        return answer


def _answer(call: Callable[[Any], Any], answers: "queue.SimpleQueue[tuple[Any, Exception | None]]") -> None:
    """Put what a call with the keyring returns, or why it failed."""
    try:
        answers.put((call(_keyring()), None))
    except NoKeyring as error:
        answers.put((None, error))
    except BaseException as error:  # a keyring is another program; its texts may hold the secret
        answers.put((None, KeyringFailed(type(error).__name__)))


def _keyring() -> Any:
    """Return the keyring that the library chooses. Raises NoKeyring, and whatever a keyring raises."""
    try:
        import keyring  # noqa: PLC0415 (an extra, and most commands do not need it)
    except ImportError:
        raise NoKeyring("the extra keyring is not installed: pip install 'skill-registry[keyring]'") from None
    chosen = keyring.get_keyring()
    if chosen.priority <= 0:  # those that keep nothing, or refuse: `null` and `fail`
        raise NoKeyring("this system has none that can be used")
    return chosen
