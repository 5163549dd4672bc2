#!/bin/sh
# A registry revokes a version, and a project that has installed it is told why and what replaces it.
# Needs git, and the skill-registry of `make serve` or `make registry`. The script starts a registry of its own in a
# temporary folder and stops it at the end. It changes nothing else.
set -eu

PATH=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin:$PATH
folder=$(mktemp -d)
export XDG_CONFIG_HOME="$folder/config" # no login of yours is used
cd "$folder"
mkdir served
git init --quiet --bare --initial-branch=main index.git
skill-registry serve --enable-registry --host 127.0.0.1 --port 0 --embedding-provider none --auth-anonymous-read \
  --skills-dir served --data-dir registry --blobs-dir blobs --registry-index-url "$folder/index.git" 2>log &
trap 'kill $! && wait $!; rm -rf "$folder"' EXIT
until grep --quiet --no-messages 'listening on' log; do
  kill -0 $! || { cat log >&2; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/.*listening on //p' log)
export SKILL_REGISTRY_SERVER="$url"

# run COMMAND…: print the command as a user would type it, run it, and print a failing exit code.
run() {
  printf '$ %s\n' "$*"
  "$@" 2>notes || printf 'exit code %s\n' "$?"
  printf '\n'
}

# skill VERSION: write the skill in this version.
skill() {
  mkdir -p "$folder/tea"
  printf -- '---\nname: tea\ndescription: Brew tea for whoever asks for it.\nmetadata:\n  version: %s\n---\n# Tea %s\n' "$1" "$1" \
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
