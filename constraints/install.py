"""Install what constraints files list into this Python: exactly these versions, checked by their hashes.

    python constraints/install.py core languages

It shows one line of progress, and everything that pip says if pip fails.
"""

import subprocess
import sys
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps")
FOLDER = Path(__file__).parent


def main(names: list[str]) -> int:
    """Run pip, and return its exit status."""
    files = [FOLDER / f"{name}.txt" for name in names]
    total = sum("==" in line and line[0] != "#" for file in files for line in file.read_text().splitlines())
    options = ["--require-hashes", *(f"--requirement={file}" for file in files)]
    # The versions of Python that the packages for tests declare are stricter than their code.
    options += ["--ignore-requires-python"] if names == ["tools"] else []
    said: list[str] = []
    count = 0
    with subprocess.Popen([*PIP, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if line.startswith(("Collecting ", "Requirement already satisfied: ", "Ignoring ")):
                count += 1
                _show(f"{count} of {total} packages")
            elif line.startswith("Installing collected packages"):
                _show("unpacking")
    _show("")
    if pip.returncode:
        sys.stderr.write("".join(said))
    return pip.returncode


def _show(progress: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\033[K{progress}")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
