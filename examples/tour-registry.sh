# Begins a tour: a registry of its own in a temporary folder, which the end of the script stops and removes, and `run`.
# A tour has set -eu, and includes it as `. "$(dirname "$0")/tour-registry.sh"`. `options` are for `skill-registry serve`,
# split at blanks.

PATH=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin:$PATH
folder=$(mktemp -d)
export XDG_CONFIG_HOME="$folder/config" # no login of yours is used
cd "$folder"
mkdir served
git init --quiet --bare --initial-branch=main index.git
skill-registry serve --enable-registry --host 127.0.0.1 --port 0 --embedding-provider none --auth-anonymous-read \
  ${options:-} --skills-dir served --data-dir registry --blobs-dir blobs --registry-index-url "$folder/index.git" 2>log &
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
