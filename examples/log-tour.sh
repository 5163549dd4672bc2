#!/bin/sh
# Proves offline that an installed skill is the one a registry published. Only the lock file is needed.
# Needs curl, git, and the skill-registry of `make serve` or `make registry`. The script starts a registry of its own in
# a temporary folder and stops it at the end. It changes nothing else.
set -eu

. "$(dirname "$0")/tour-registry.sh"

echo '# An author publishes a skill. The registry appends it to its log and adds the signed checkpoint to its index.'
mkdir tea
printf -- '---\nname: tea\ndescription: Brew tea for a guest.\nversion: 1.0.0\n---\n# Tea\n' >tea/SKILL.md
run skill-registry publish tea --username acme/ann
until git -C index.git show main:acme/tea >line 2>&1; do sleep 0.1; done
git clone --quiet index.git index
run git -C index ls-files

echo '# A project installs the skill. Its lock holds the digests of the package and of the files, and a proof from the log.'
mkdir project
cd project
printf 'data_dir = "data"\nembedding.provider = "none"\n' >registry.toml
echo '[dependencies]' >skill-project.toml
run skill-registry install acme/tea
run grep -e ^sha256 -e ^package skills.lock
curl --silent "$url/api/v1/log/key" | sed -n 's/.*"key":"\([^"]*\)".*/\1/p' >log.pub

echo '# From here on, no network is needed. The clone of the index must list the same package and show the same log.'
run skill-registry verify --log --key log.pub --index ../index

echo '# Files that were never published are detected, even if the lock is edited to list them.'
echo '# Tea, and a nasty surprise' >>skills/tea/SKILL.md
run skill-registry verify --log
sha256=$(skill-registry verify --json | sed -n 's/.*have sha256 \([0-9a-f]*\),.*/\1/p')
sed "s/^sha256 = .*/sha256 = \"$sha256\"/" skills.lock >edited
mv edited skills.lock
run skill-registry verify --log
