"""Loaded by schemathesis: how to send the bodies of git, lines of JSON and zips, which it does not know."""

import schemathesis

schemathesis.serializer.alias("application/x-git-upload-pack-request", "application/octet-stream")
schemathesis.serializer.alias("application/x-ndjson", "text/plain")
schemathesis.serializer.alias("application/zip", "application/octet-stream")
