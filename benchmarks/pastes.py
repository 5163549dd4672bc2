# ruff: noqa: E501 - the lines of machines are long
"""Machine texts as people paste them beside a request: traces, logs, outputs of tools, data and code, from a seed.

`TRAIN` are the kinds by which the rules were written, `DEV` the kinds that were looked at afterwards only.
"""

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

_WORDS = tuple(
    """
    account archive balance batch billing bucket cache cart catalog channel checkout client cluster column config
    connection consumer contract customer dataset deploy device document driver email engine entry event export factory
    feed file filter gateway handler health image import index inventory invoice job journal kernel ledger loader lock
    login mailer manager mapper market message metric migration model monitor network node order parser partner patch
    payment pipeline player policy portal printer process producer profile project provider proxy query queue reader
    record refund region registry release report request resolver response retry router runner sample scanner schedule
    schema search sensor server service session shard shipment signal socket source storage stream student supplier
    sync table tenant ticket timer token tracker trade transfer upload user vehicle vendor video view warehouse webhook
    widget worker workflow workspace
    """.split()  # noqa: SIM905 - one word per line would take three pages
)
_VERBS = (
    "fetch",
    "load",
    "save",
    "parse",
    "render",
    "update",
    "create",
    "delete",
    "validate",
    "process",
    "send",
    "retry",
)
_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG", "INFO", "INFO")
_PACKAGES = ("requests", "numpy", "lodash", "express", "rxjs", "typescript", "serde", "tokio", "urllib3", "react")


class Source:
    """Random parts of machine texts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self) -> str:
        """Return a word that programs are about."""
        return self.random.choice(_WORDS)

    def verb(self) -> str:
        """Return what a function does."""
        return self.random.choice(_VERBS)

    def pascal(self) -> str:
        """Return the name of a class."""
        return self.word().title() + self.word().title()

    def camel(self) -> str:
        """Return the name of a method."""
        return self.verb() + self.word().title()

    def number(self, least: int = 1, most: int = 999) -> int:
        """Return a number."""
        return self.random.randint(least, most)

    def hexadecimal(self, length: int = 12) -> str:
        """Return digits of a digest."""
        return "".join(self.random.choices("0123456789abcdef", k=length))

    def time(self) -> str:
        """Return the time of a log line."""
        numbers = (self.number(1, 12), self.number(1, 28), self.number(0, 23), self.number(0, 59), self.number(0, 59))
        return "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z".format(*numbers, self.number(0, 999))

    def path(self, ending: str) -> str:
        """Return the path of a source file."""
        return f"/srv/{self.word()}/{self.word()}/{self.word()}_{self.word()}.{ending}"

    def lines(self, count: int, line: Callable[[], str]) -> str:
        """Return some lines of one kind."""
        return "\n".join(line() for _ in range(count))


Kind = Callable[[Source, int], str]


def _python(of: Source, lines: int) -> str:
    def frame() -> str:
        name = f"{of.verb()}_{of.word()}"
        code = f"    {of.word()} = self.{of.word()}.{name}({of.word()}, timeout={of.number()})"
        return f'  File "{of.path("py")}", line {of.number()}, in {name}\n{code}'

    frames = of.lines(lines // 2, frame)
    return f"Traceback (most recent call last):\n{frames}\nKeyError: '{of.word()}_{of.word()}'"


def _java(of: Source, lines: int) -> str:
    def frame() -> str:
        name = of.pascal()
        return f"\tat com.{of.word()}.{of.word()}.{name}.{of.camel()}({name}.java:{of.number()})"

    cause = f"Caused by: java.sql.SQLException: {of.word()} {of.word()} is closed"
    head = f'Exception in thread "main" java.lang.IllegalStateException: {of.word()} not {of.verb()}ed'
    return "\n".join((head, of.lines(lines // 2, frame), cause, of.lines(lines // 2, frame), "\t... 23 more"))


def _javascript(of: Source, lines: int) -> str:
    def frame() -> str:
        return f"    at {of.pascal()}.{of.camel()} ({of.path('js')}:{of.number()}:{of.number(1, 80)})"

    head = f"TypeError: Cannot read properties of undefined (reading '{of.word()}')"
    return f"{head}\n{of.lines(lines, frame)}\n    at process.processTicksAndRejections (node:internal/process:95:5)"


def _go(of: Source, lines: int) -> str:
    def frame() -> str:
        name = f"github.com/{of.word()}/{of.word()}/{of.word()}.(*{of.pascal()}).{of.camel().title()}"
        return (
            f"{name}(0xc{of.hexadecimal(9)}, 0x{of.number()})\n\t{of.path('go')}:{of.number()} +0x{of.hexadecimal(3)}"
        )

    head = "panic: runtime error: invalid memory address or nil pointer dereference\n\ngoroutine 1 [running]:"
    return f"{head}\n{of.lines(lines // 2, frame)}\nexit status 2"


def _rust(of: Source, lines: int) -> str:
    def frame() -> str:
        return f"  {of.number(1, 40)}: {of.word()}::{of.word()}::{of.pascal()}::{of.verb()}\n             at ./src/{of.word()}.rs:{of.number()}:{of.number(1, 60)}"

    head = (
        f"thread 'main' panicked at src/{of.word()}.rs:{of.number()}:17:\ncalled `Option::unwrap()` on a `None` value"
    )
    return f"{head}\nstack backtrace:\n{of.lines(lines // 2, frame)}"


def _csharp(of: Source, lines: int) -> str:
    def frame() -> str:
        name = of.pascal()
        return rf"   at {of.word().title()}.{of.word().title()}.{name}.{of.verb().title()}Async(String {of.word()}) in C:\src\{of.word()}\{name}.cs:line {of.number()}"

    return f"System.NullReferenceException: Object reference not set to an instance of an object.\n{of.lines(lines, frame)}"


def _ruby(of: Source, lines: int) -> str:
    def frame() -> str:
        return f"\tfrom {of.path('rb')}:{of.number()}:in `{of.verb()}_{of.word()}'"

    return f"{of.path('rb')}:{of.number()}:in `{of.verb()}': undefined method `{of.word()}' for nil:NilClass (NoMethodError)\n{of.lines(lines, frame)}"


def _php(of: Source, lines: int) -> str:
    frames = "\n".join(
        f"#{n} {of.path('php')}({of.number()}): App\\{of.pascal()}->{of.camel()}(Object(App\\{of.pascal()}), Array)"
        for n in range(lines)
    )
    return f"PHP Fatal error:  Uncaught Error: Call to a member function {of.camel()}() on null in {of.path('php')}:{of.number()}\nStack trace:\n{frames}\n  thrown in {of.path('php')} on line {of.number()}"


def _log(of: Source, lines: int) -> str:
    def line() -> str:
        return f"{of.time()} {of.random.choice(_LEVELS)} [{of.word()}-{of.number(1, 9)}] {of.word()}.{of.pascal()} - {of.verb()} {of.word()} for {of.word()} {of.number()} took {of.number()} ms"

    return of.lines(lines, line)


def _syslog(of: Source, lines: int) -> str:
    def line() -> str:
        return f"Nov {of.number(1, 28)} {of.number(10, 23)}:{of.number(10, 59)}:{of.number(10, 59)} host-{of.number(1, 9)} {of.word()}d[{of.number(100, 9999)}]: {of.verb()} {of.word()} failed: {of.word()} not found in {of.word()}"

    return of.lines(lines, line)


def _access_log(of: Source, lines: int) -> str:
    def line() -> str:
        return f'10.0.{of.number(0, 255)}.{of.number(0, 255)} - - [12/Nov/2026:10:{of.number(10, 59)}:{of.number(10, 59)} +0000] "GET /{of.word()}/{of.word()}?{of.word()}={of.number()} HTTP/1.1" {of.random.choice((200, 404, 500))} {of.number(100, 9999)} "-" "Mozilla/5.0 (X11; Linux x86_64)"'

    return of.lines(lines, line)


def _json(of: Source, lines: int) -> str:
    rows = [
        {"id": of.number(), of.word(): f"{of.verb()} the {of.word()} {of.word()}", of.word(): [of.word(), of.word()]}
        for _ in range(max(2, lines // 7))
    ]
    return json.dumps({of.word(): rows}, indent=2)


def _json_lines(of: Source, lines: int) -> str:
    def line() -> str:
        return json.dumps(
            {
                "ts": of.time(),
                "level": "error",
                "msg": f"{of.verb()} {of.word()} {of.word()}",
                "pod": f"{of.word()}-{of.hexadecimal(8)}",
            }
        )

    return of.lines(lines, line)


def _json_on_one_line(of: Source, lines: int) -> str:
    return json.dumps(
        [{of.word(): of.number(), of.word(): f"{of.word()} {of.word()} {of.word()}"} for _ in range(lines)]
    )


def _diff(of: Source, lines: int) -> str:
    name = f"src/{of.word()}/{of.word()}.ts"

    def line() -> str:
        return (
            f"{of.random.choice('+- ')}  const {of.word()} = await {of.word()}.{of.camel()}({of.word()}.{of.word()});"
        )

    return f"diff --git a/{name} b/{name}\nindex {of.hexadecimal(7)}..{of.hexadecimal(7)} 100644\n--- a/{name}\n+++ b/{name}\n@@ -12,7 +12,9 @@ export class {of.pascal()} {{\n{of.lines(lines, line)}"


def _csv(of: Source, lines: int) -> str:
    head = ",".join(of.word() for _ in range(6))
    return f"{head}\n" + of.lines(
        lines,
        lambda: (
            f"{of.number()},{of.word()} {of.word()},{of.number()}.{of.number(10, 99)},2026-0{of.number(1, 9)}-1{of.number(0, 9)},{of.word()},{of.random.choice(('true', 'false'))}"
        ),
    )


def _table(of: Source, lines: int) -> str:
    head = f"| {of.word()} | {of.word()} | {of.word()} |\n|---|---|---|"
    return f"{head}\n" + of.lines(
        lines, lambda: f"| {of.word()} {of.word()} | {of.number()} | {of.verb()} {of.word()} |"
    )


def _fence(of: Source, lines: int) -> str:
    code = of.lines(lines, lambda: f"    {of.word()} = {of.verb()}_{of.word()}({of.word()}, {of.word()}={of.number()})")
    return f"```python\ndef {of.verb()}_{of.word()}({of.word()}):\n{code}\n    return {of.word()}\n```"


def _code(of: Source, lines: int) -> str:
    def line() -> str:
        return f"    const {of.camel()} = ({of.word()}) => {{ return {of.word()}.{of.camel()}({of.word()}); }};"

    return f"export class {of.pascal()} extends {of.pascal()} {{\n{of.lines(lines, line)}\n}}"


def _shell(of: Source, lines: int) -> str:
    def line() -> str:
        return f"-rw-r--r-- 1 {of.word()} staff {of.number(100, 99999)} Nov {of.number(1, 28)} 10:{of.number(10, 59)} {of.word()}_{of.word()}.{of.random.choice(('md', 'py', 'txt'))}"

    return f"$ ls -la {of.word()}/\ntotal {of.number()}\n{of.lines(lines, line)}"


def _kubectl(of: Source, lines: int) -> str:
    def line() -> str:
        return f"{of.word()}-{of.word()}-{of.hexadecimal(9)}-{of.hexadecimal(5)}   0/1     CrashLoopBackOff   {of.number(1, 90)}          {of.number(1, 20)}h"

    return f"NAME                             READY   STATUS             RESTARTS   AGE\n{of.lines(lines, line)}"


def _docker(of: Source, lines: int) -> str:
    def line() -> str:
        return f"#{of.number(1, 20)} {of.number(0, 90)}.{of.number(100, 999)} Get:{of.number(1, 90)} http://deb.debian.org/debian bookworm/main amd64 lib{of.word()}-dev amd64 {of.number(1, 9)}.{of.number(1, 9)}-2 [{of.number()} kB]"

    return f'=> ERROR [{of.number(1, 9)}/9] RUN apt-get install -y {of.word()}\n{of.lines(lines, line)}\nfailed to solve: process "/bin/sh -c apt-get" did not complete successfully: exit code: 100'


def _npm(of: Source, lines: int) -> str:
    def line() -> str:
        return f'npm ERR! peer {of.random.choice(_PACKAGES)}@"^{of.number(1, 20)}.0.0" from {of.word()}-{of.word()}@{of.number(1, 9)}.{of.number(0, 9)}.{of.number(0, 9)}'

    return f"npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\n{of.lines(lines, line)}"


def _pytest(of: Source, lines: int) -> str:
    def line() -> str:
        return f"FAILED tests/{of.word()}/test_{of.word()}.py::test_{of.verb()}_{of.word()}_{of.word()} - AssertionError: assert {of.number()} == {of.number()}"

    return f"============================= test session starts ==============================\nplatform linux -- Python 3.12.1, pytest-8.3.2\n{of.lines(lines, line)}\n=================== {lines} failed, {of.number()} passed in 12.31s ==================="


def _gcc(of: Source, lines: int) -> str:
    def error() -> str:
        return f"src/{of.word()}/{of.word()}.cpp:{of.number()}:{of.number(1, 60)}: error: no matching function for call to '{of.pascal()}::{of.camel()}(int, const char*)'\n  {of.number()} |     {of.word()}->{of.camel()}({of.word()}, \"{of.word()}\");\n      |     ^~~~~~~~~~~~~~~"

    return f"{of.lines(max(1, lines // 3), error)}\nmake[1]: *** [CMakeFiles/{of.word()}.dir/build.make:76] Error 1"


def _terraform(of: Source, lines: int) -> str:
    def line() -> str:
        return f'      + {of.word()}_{of.word():<20} = "{of.word()}-{of.word()}"'

    return f'Terraform will perform the following actions:\n\n  # aws_{of.word()}_{of.word()}.main will be created\n  + resource "aws_{of.word()}" "main" {{\n{of.lines(lines, line)}\n    }}\n\nPlan: 3 to add, 0 to change, 1 to destroy.'


def _ci(of: Source, lines: int) -> str:
    def line() -> str:
        return f"{of.time()} ##[group]Run {of.word()}/{of.verb()}-{of.word()}@v{of.number(1, 5)}"

    return f"{of.lines(lines, line)}\n{of.time()} ##[error]Process completed with exit code 1."


def _sql(of: Source, lines: int) -> str:
    table = of.word()

    def line() -> str:
        return f"INSERT INTO `{table}s` VALUES ({of.number()},'{of.word()} {of.word()}','{of.word()}@example.org',NULL,'2026-01-02 10:11:12');"

    return f"CREATE TABLE `{table}s` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `{of.word()}` varchar(255) DEFAULT NULL\n);\n{of.lines(lines, line)}"


def _base64(of: Source, lines: int) -> str:
    return of.lines(max(lines, 26), lambda: base64.b64encode(of.random.randbytes(57)).decode())


def _minified(of: Source, lines: int) -> str:
    def statement() -> str:
        return f'function {of.word()[0]}(e,t){{var n=e.{of.word()},r=t.{of.camel()};return n&&r({of.number()},"{of.word()} {of.word()}")}}'

    return "!" + "".join(statement() for _ in range(lines * 2))


def _html(of: Source, lines: int) -> str:
    def line() -> str:
        return f'    <div class="{of.word()}-{of.word()}"><a href="/{of.word()}/{of.number()}">{of.word().title()} {of.word()}</a></div>'

    return f"<!DOCTYPE html>\n<html>\n  <body>\n{of.lines(lines, line)}\n  </body>\n</html>"


def _yaml(of: Source, lines: int) -> str:
    def line() -> str:
        return f'      - name: {of.word().upper()}_{of.word().upper()}\n        value: "{of.word()}-{of.word()}"'

    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {of.word()}-{of.word()}\nspec:\n  template:\n    env:\n{of.lines(max(2, lines // 2), line)}"


def _windows(of: Source, lines: int) -> str:
    def line() -> str:
        return rf"C:\Users\{of.word()}\AppData\Local\{of.word().title()}\{of.word()}-{of.number()}.dll"

    return of.lines(max(26, lines), line)


def _mail(of: Source, lines: int) -> str:
    host = f"mail.{of.word()}.example.org"

    def line() -> str:
        return f"Received: from {host} (10.0.{of.number(0, 255)}.{of.number(0, 255)}) by mx{of.number(1, 9)}.{of.word()}.example.org with ESMTPS id {of.hexadecimal(10)}; Tue, 12 Nov 2026 10:{of.number(10, 59)}:12 +0000"

    return f'Return-Path: <{of.word()}@{host}>\n{of.lines(max(3, lines // 3), line)}\nMessage-ID: <{of.hexadecimal(16)}@{host}>\nContent-Type: multipart/alternative; boundary="{of.hexadecimal(12)}"\nX-Spam-Status: No, score=-{of.number(1, 9)}.1'


TRAIN: Mapping[str, Kind] = MappingProxyType(
    {
        "python": _python, "java": _java, "javascript": _javascript, "go": _go, "log": _log, "json": _json,
        "diff": _diff, "table": _table, "fence": _fence, "csv": _csv, "shell": _shell, "code": _code, "npm": _npm,
        "yaml": _yaml, "html": _html, "base64": _base64,
    }
)  # fmt: skip
DEV: Mapping[str, Kind] = MappingProxyType(
    {
        "rust": _rust, "csharp": _csharp, "ruby": _ruby, "php": _php, "syslog": _syslog, "access log": _access_log,
        "json lines": _json_lines, "json on one line": _json_on_one_line, "kubectl": _kubectl, "docker": _docker,
        "pytest": _pytest, "gcc": _gcc, "terraform": _terraform, "ci": _ci, "sql": _sql, "minified": _minified,
        "windows": _windows, "mail": _mail,
    }
)  # fmt: skip

_BEFORE = ("Here is the output:", "This is what I get:", "Error:", "", "See below.", "Context:")
_AROUND = ("I have this:", "Look at this:", "We got the following today.", "")


def placed(request: str, paste: str, place: str, of: Source) -> str:
    """Return a request with a paste `before` it, `after`, `around` (in two parts) or in the `middle` of two texts."""
    introduction = of.random.choice(_BEFORE)
    if place == "after":
        return "\n".join(filter(None, (request, introduction, paste)))
    if place == "before":
        return f"{paste}\n\n{request}"
    if place == "around":
        lines = paste.split("\n")
        half = len(lines) // 2
        return (
            "\n\n".join(("\n".join(lines[:half]), request, "\n".join(lines[half:]))) if half else f"{request}\n{paste}"
        )
    return "\n\n".join(filter(None, (of.random.choice(_AROUND), paste, request)))


PLACES = ("before", "after", "around", "middle")
LINES = (6, 15, 40, 150)
"""Lines of the pastes: five lines of a log, a short trace, a whole one, and what fills pages."""


def pasted(requests: list[str], kinds: Mapping[str, Kind], seed: int) -> Iterator[tuple[str, str, str]]:
    """Yield a kind, a place and a prompt for each request: the request with a paste, kinds and places in turns."""
    names = sorted(kinds)
    for number, request in enumerate(requests):
        of = Source(seed * 100_003 + number)
        kind, place = names[number % len(names)], PLACES[(number // len(names)) % len(PLACES)]
        yield kind, place, placed(request, kinds[kind](of, of.random.choice(LINES)), place, of)
