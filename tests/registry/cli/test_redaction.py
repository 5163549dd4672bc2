"""The password of a URL is never printed, whatever is wrong with the URL or with the command."""

from pathlib import Path

import pytest

from support.commands import Done

URL = "https://user:canary@127.0.0.1:9/x"


@pytest.mark.parametrize(
    "args",
    [
        *(("install", url) for url in (URL, f"{URL}.zip", f"{URL}/tree/main/y", "ftp://u:canary@h", "u:canary@h:x")),
        *(("sources", "add", "n", url) for url in (URL, "https://u:can/ary@h/x", "https://u:canary@h:99999/")),
        ("uninstall", URL),
        ("upgrade", URL),
        ("status", "--server", URL),
        *(
            ("login", "--username", "u", "--server", url)
            for url in (URL, "ftp://u:canary@h", "https://u:canary@h:99999")
        ),
        ("logout", "--server", "//u:canary@h"),
        ("publish", ".", "--server", "ftp://u:canary@h"),
        ("lock", "--log", URL, "--key", "k"),
        ("serve", "--allowed-origin", URL),
        ("serve", "--allowed-host", URL),
        ("serve", "--port", URL),
        ("serve", "--outbound-allowed-host", "u:canary@h"),
        ("search", "--mode", URL, "x"),
        ("verify", URL),
        (URL,),
        (f"--{URL}",),
    ],
    ids=" ".join,
)
def test_a_command_does_not_print_it(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = Done(tmp_path, *args, stdin="password\n")
    assert "ary" not in done.out.replace("library", "") + done.error.replace("library", "")


def test_json_output_does_not_have_it(tmp_path: Path) -> None:
    for args in (("uninstall", URL), ("install", "u:canary@h:x"), ("sources", "add", "n", URL)):
        assert "canary" not in Done(tmp_path, *args, "--json").out


def test_settings_do_not_have_it(tmp_path: Path) -> None:
    for name in ("SERVER_ALLOWED_ORIGINS", "EMBEDDING_BASE_URL", "DATABASE_URL", "PROFILE"):
        done = Done(tmp_path, "scan", **{f"SKILL_REGISTRY_{name}": "gopher://user:canary@host/x"})
        done.complains(2)
        assert "canary" not in done.error
