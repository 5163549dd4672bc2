"""Loaded by schemathesis: how to send the bodies of git, which it does not know."""

import schemathesis

schemathesis.serializer.alias("application/x-git-upload-pack-request", "application/octet-stream")
