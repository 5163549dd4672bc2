"""Log output: one line for each record on standard error, as text or JSON."""

import logging
import re
import sys
import time
from typing import Any, Literal

import msgspec

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_QUIET = (
    *("asyncio", "boto3", "botocore", "faiss", "httpcore", "httpcore2", "httpx", "httpx2", "openai", "s3transfer"),
    *("urllib3", "watchfiles"),
)


def configure_logging(log_format: LogFormat, level: LogLevel) -> None:
    """Send all log records of the process to standard error. Chatty libraries log only from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
    # uvicorn warns about every malformed request, which the request log already contains.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


class JsonLines(logging.Formatter):
    """One JSON object for each line. JSON escapes line breaks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        line: dict[str, Any] = {"time": _time(record), "level": record.levelname.lower()}
        fields = getattr(record, "fields", None)
        line |= fields if fields is not None else {"logger": record.name, "message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        texts = {name: _SURROGATE.sub(_escape, value) for name, value in line.items() if isinstance(value, str)}
        return msgspec.json.encode(line | texts).decode()


class TextLines(logging.Formatter):
    """Time, level and message. Control characters are escaped; the lines of a traceback start with a bar."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line, followed by its traceback."""
        fields = getattr(record, "fields", None)
        message = _as_text(fields) if fields is not None else record.getMessage()
        line = f"{_time(record)} {record.levelname:<7} {_CONTROL.sub(_escape, message)}"
        if not record.exc_info:
            return line
        trace = self.formatException(record.exc_info).splitlines()
        return "\n".join([line, *(f"    | {_CONTROL.sub(_escape, part)}" for part in trace)])


def _as_text(fields: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"
