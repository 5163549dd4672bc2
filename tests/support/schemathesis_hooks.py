"""What schemathesis must know to send requests of media types that it does not know itself."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
