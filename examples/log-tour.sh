#!/bin/sh
# Proves offline that an installed skill is the one a registry published. Only the registry's public key is needed.
# The script starts its own registry in a temporary folder and stops it at the end.
set -eu

port=${PORT:-8092}
url=http://127.0.0.1:$port
folder=$(mktemp -d)
cd "$folder"
git init --quiet --bare --initial-branch=main index.git
skill-registry serve --enable-registry --host 127.0.0.1 --port "$port" --embedding-provider none --auth-anonymous-read \
  --skills-dir served --data-dir registry --blobs-dir blobs --registry-index-url "$folder/index.git" --log-level error &
trap 'kill $! && wait $!; rm -rf "$folder"' EXIT
until curl --silent --fail "$url/healthz" >health; do sleep 0.1; done

# run COMMAND…: print the command as a user would type it, run it, and print a failing exit code.
run() {
  printf '$ %s\n' "$*" | sed "s,$url,\$URL,"
  "$@" || printf 'exit code %s\n' "$?"
  printf '\n'
}

echo '# An author publishes a skill. The registry appends it to its log and adds the signed checkpoint to its index.'
mkdir tea
printf -- '---\nname: tea\ndescription: Brew tea for whoever asks for it.\nversion: 1.0.0\n---\n# Tea\n' >tea/SKILL.md
curl --silent "$url/auth/token" --json '{"role": "manager", "username": "acme/ann"}' >token
SKILL_REGISTRY_CLIENT_API_KEY=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' token)
export SKILL_REGISTRY_CLIENT_API_KEY
run skill-registry publish tea --server "$url"
unset SKILL_REGISTRY_CLIENT_API_KEY
until git -C index.git show main:acme/tea >line 2>&1; do sleep 0.1; done
git clone --quiet index.git index
run git -C index ls-files

echo '# A project installs the skill and stores proofs next to its lock. Get the public key from a source you trust.'
mkdir project
cd project
cat >registry.toml <<TOML
data_dir = "data"
embedding.provider = "none"
outbound.allowed_hosts = ["127.0.0.1:$port"]
TOML
curl --silent "$url/api/v1/log/key" | sed -n 's/.*"key":"\([^"]*\)".*/\1/p' >log.pub
mkdir skills
skill-registry scan >scan
run skill-registry install --no-save "$url/packages/acme/tea/1.0.0.zip"
run skill-registry lock --log "$url" --key log.pub

echo '# From here on, no network is needed. The clone of the index must contain a checkpoint of the same log.'
run skill-registry verify --log --key log.pub --index ../index

echo '# Files that were never published are detected, even if the lock lists them.'
echo '# Tea, and a nasty surprise' >>skills/tea/SKILL.md
skill-registry lock >locked
run skill-registry verify --log --key log.pub
