#!/usr/bin/env python3
"""Print the commits since a tag (default: the latest), grouped by their conventional-commit kind.

commits_since.py [TAG]
"""

import re
import subprocess
import sys
from collections import defaultdict

TITLES = {
    "breaking": "Breaking changes",
    "security": "Security",
    "feat": "Added",
    "perf": "Changed",
    "fix": "Fixed",
    "revert": "Reverted",
    "other": "Without a kind (read these)",
    "internal": "Internal (usually left out)",
}
INTERNAL = {"build", "chore", "ci", "docs", "refactor", "style", "test"}
HEADER = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<scope>[^()]*)\))?(?P<mark>!)?: (?P<text>.*)")


def git(*arguments):
    done = subprocess.run(
        ["git", *arguments], check=False, capture_output=True, text=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        sys.exit(done.stderr.strip() or f"git {arguments[0]} failed")
    return done.stdout


def group_of(subject, body):
    """Return the group a commit belongs to and its text without the kind."""
    header = HEADER.fullmatch(subject)
    text = header["text"] if header else subject
    if header and header["scope"]:
        text = f"{header['scope']}: {text}"
    if (header and header["mark"]) or re.search(r"^BREAKING[ -]CHANGE:", body, re.MULTILINE):
        return "breaking", text
    kind = header["kind"] if header else "other"
    if kind in INTERNAL:
        return "internal", text
    return (kind if kind in TITLES else "other"), text


def main():
    tag = sys.argv[1] if len(sys.argv) > 1 else git("describe", "--tags", "--abbrev=0").strip()
    git("rev-parse", "--verify", "--end-of-options", f"{tag}^{{commit}}")
    log = git("log", "--no-merges", "--reverse", "-z", "--format=%h%n%s%n%b", f"{tag}..HEAD")
    groups = defaultdict(list)
    for record in filter(None, log.split("\0")):
        short, subject, body = record.split("\n", 2)
        group, text = group_of(subject, body)
        groups[group].append(f"- {text} ({short})")
    for group, title in TITLES.items():
        if groups[group]:
            print(f"## {title}\n", *groups[group], sep="\n", end="\n\n")
    if not groups:
        print(f"no commits since {tag}")


if __name__ == "__main__":
    main()
