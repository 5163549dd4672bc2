#!/bin/sh
# The life of a skill in a registry, with curl: token, create, versions, search, disable, delete, verify, expiry.
# Needs curl, and the skill-registry of `make serve` or `make registry`. The script starts a registry of its own in a
# temporary folder and stops it at the end. It changes nothing else.
set -eu

PATH=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin:$PATH
folder=$(mktemp -d)
mkdir "$folder/skills"
skill-registry serve --profile registry --host 127.0.0.1 --port 0 --embedding-provider none \
  --skills-dir "$folder/skills" --data-dir "$folder/data" 2>"$folder/log" &
trap 'kill $! && wait $!; rm -rf "$folder"' EXIT
until grep --quiet --no-messages 'listening on' "$folder/log"; do
  kill -0 $! || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/.*listening on //p' "$folder/log")

# call METHOD PATH [JSON]: print the request as a user would type it, send it with the token, print the response.
token=
call() {
  printf '$ curl -X %s $URL%s' "$1" "$2"
  [ -z "${3-}" ] || printf " --json '%s'" "$3"
  printf '\n'
  curl --silent --request "$1" "$url$2" ${token:+--header "Authorization: Bearer $token"} \
    ${3+--header 'Content-Type: application/json' --data "$3"}
  printf '\n\n'
}

echo '# Reading needs a credential. By default, only callers on the same machine get tokens without one.'
call GET /api/code/v1/skills
call POST /auth/token '{"role": "manager", "username": "acme/alice"}' | tee "$folder/token"
token=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' "$folder/token")
call GET /auth/verify

echo '# Create a skill, change it, and add a version.'
call POST /api/code/v1/skills '{"id": "pdf-tables", "name": "PDF tables", "version": "1.9.0", "description": "Take the tables of a PDF into spreadsheets.", "tags": ["pdf", "tables"]}'
call PUT /api/code/v1/skills/pdf-tables '{"author": "Alice"}'
call POST /api/code/v1/skills/pdf-tables/versions '{"version": "1.10.0", "changes": ["Merged cells stay merged"]}'
call GET /api/code/v1/skills/pdf-tables/versions

echo '# Search finds the skill until it is disabled. A disabled skill can still be read by its id.'
call POST /api/search '{"query": "spreadsheet from a pdf", "limit": 1}'
call PUT /api/code/v1/skills/pdf-tables '{"enabled": false}'
call POST /api/search '{"query": "spreadsheet from a pdf", "limit": 1}'

echo '# Invalid input is rejected with every reason. A manager may not list API keys.'
call POST /api/code/v1/skills '{"id": "-", "name": "", "version": "1.0", "description": "short"}'
call GET /api/v1/auth/keys

echo '# Delete the skill.'
call DELETE /api/code/v1/skills/pdf-tables
call GET /api/code/v1/skills/pdf-tables

echo '# Revoked and expired tokens are rejected.'
call POST /auth/logout
call GET /api/code/v1/skills
token=$(skill-registry admin token --lifetime 1 --data-dir "$folder/data")
sleep 2
call GET /auth/verify
