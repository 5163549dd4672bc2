"""The skill about this registry, for agents that have no other way to search it."""

import hashlib

from registry import __version__
from registry.services.skill_files import PackagedFile, SkillPackage
from registry.skill_folder.tree import SKILL_FILE

OWN_ID = "skill-registry"

_TEXT = """---
name: skill-registry
description: Finds and installs skills of the registry at {url}. Use it before a task that a skill may help with.
---
# Skill registry

The registry at <{url}> has skills: folders with instructions and files for a kind of task. Look for one before you
begin a task that others may have done before.

## Search

```sh
curl --get {url}/find/api/search --data-urlencode "q=fill in pdf forms"
```

Each result has an `id`, a `name`, and in `source` the address to install from. The best one is first. If none fits,
do the task without a skill.

## Read

```sh
curl {url}/tree/ID/SKILL.md
```

`{url}/tree/ID/index.json` lists the files of a skill.

## Install

```sh
npx skills add SOURCE
```

If the registry asks for a token, send it in the header `Authorization: Bearer TOKEN`.
"""


def own_package(base_url: str) -> SkillPackage:
    """Return the skill; `base_url` is that of this service."""
    text = _TEXT.replace("{url}", base_url).encode()
    file = PackagedFile(SKILL_FILE, text, False, hashlib.sha256(text).hexdigest())
    return SkillPackage(OWN_ID, __version__, {SKILL_FILE: file}, fixed=False)
