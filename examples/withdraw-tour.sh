#!/bin/sh
# A registry revokes a version, and a project that has installed it is told why and what replaces it.
# Needs git, and the skill-registry of `make serve` or `make registry`. The script starts a registry of its own in a
# temporary folder and stops it at the end. It changes nothing else.
set -eu

. "$(dirname "$0")/tour-registry.sh"

# skill VERSION: write the skill in this version.
skill() {
  mkdir -p "$folder/tea"
  printf -- '---\nname: tea\ndescription: Brew tea for a guest.\nmetadata:\n  version: %s\n---\n# Tea %s\n' "$1" "$1" \
    >"$folder/tea/SKILL.md"
}

echo '# A project installs a skill. Nothing is withdrawn.'
skill 1.0.0
skill-registry publish tea --username acme/ann >published 2>&1
mkdir project
cd project
printf 'data_dir = "data"\nembedding.provider = "none"\n' >registry.toml
echo '[dependencies]' >skill-project.toml
run skill-registry install acme/tea
run skill-registry audit

echo '# The registry revokes the version, and says why. The reason is in its signed log.'
run skill-registry revoke acme/tea@1.0.0 --reason 'it pours the tea into the keyboard' --replacement acme/tea@^1.1

echo '# The project asks, for example in CI each night. It exits with 1 if anything was withdrawn, with 2 if it cannot tell.'
run skill-registry audit

echo '# An author publishes the replacement. The project gets it.'
skill 1.1.0
skill-registry publish ../tea --username acme/ann >published 2>&1
run skill-registry upgrade --check
run skill-registry upgrade
run skill-registry audit
