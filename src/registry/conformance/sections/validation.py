"""The validation rules for skill definitions: at the limits and beyond them, field by field."""

from functools import partial
from typing import Any

from registry.conformance.rows import Row, Section
from registry.conformance.service import Service

VALIDATION = Section("Validation rules for skill definitions")

_RULES: tuple[tuple[str, bool, list[Any], list[Any]], ...] = (
    ("id", False, [], ["", "ab", "a" * 51, "-abc", "abc-", "_abc", "abc_", "a b", "a.b", "abc\n", "аbc", "a٢c",
     None, 5]),
    ("id", True, [], ["Abc", "a/b", "upgrade", "install", "versions", "search"]),
    ("name", False, ["x", "x" * 100, "名" * 100], ["", "x" * 101, None, 5]),
    ("name", True, [], ["a\nb", "a\x00b"]),
    ("description", False, ["x" * 10, "x" * 500, "語" * 500], ["", "x" * 9, "x" * 501, None]),
    ("description", True, ["line one\nline two"], ["x" * 10 + "\x00"]),
    ("version", False, ["0.0.0", "1.2.3", "10.20.30"], ["", "1", "1.0", "1.0.0.0", "x", None]),
    ("version", True, [], ["01.0.0", "v1.0.0", "1.0.0-rc1", "1.0.0\n", " 1.0.0", "1.٢.3", "9" * 30 + ".0.0"]),
    ("tags", False, [[], ["ab"], ["a" * 30], ["a-b_C9"], [f"t{n}" for n in range(10, 30)]],
     [["a"], ["a" * 31], ["a b"], [f"t{n}" for n in range(10, 31)], [5]]),
    ("tags", True, ["ab, cd", ""], [["ä" * 3], "a", "ab, c", ["a\n"], None]),
    ("capabilities", False, [[], ["abc"], ["a" * 50], [f"cap{n}" for n in range(20)]],
     [["ab"], ["a" * 51], [f"cap{n}" for n in range(21)], [5]]),
    ("capabilities", True, ["abc, def"], ["ab", ["a\nbc"], None]),
    ("execution_timeout", False, [1, 300], [0, 301, -1, "5", 1.5, True]),
    ("memory_limit_mb", False, [32, 2048], [31, 2049, -1, "64", 64.5, True]),
    ("enabled", False, [True, False], ["true", 1, None]),
    ("editable", False, [True, False], ["true", 1, None]),
    ("skill_file", False, [], ["../../etc/passwd", "/etc/passwd", "absent/SKILL.md"]),
    ("skill_file", True, [], ["", "a\\b", "a\x00b", ".", ".."]),
)  # fmt: skip
"""Field, whether the specification leaves it open, values that are accepted, values that are refused."""


def _accepted(field: str, values: list[Any], service: Service) -> None:
    for value in values:
        with service.created(**{field: value}):
            pass


def _refused(field: str, values: list[Any], service: Service) -> None:
    for value in values:
        body = service.skill(**{field: value})
        answer = service.post("/skills", body)
        if answer.status == 201:
            service.remove(str(body["id"]))
        faults = {fault.partition("[")[0] for fault in answer.faults()}
        answer.expect(faults == {field}, f"a fault of {field} for {str(value)[:40]!r}", sorted(faults))


def _add(field: str, decided: bool, good: list[Any], bad: list[Any]) -> None:
    more = ", as decided" if decided else ""
    for text, check, values in (("allowed", _accepted, good), ("forbidden", _refused, bad)):
        if values:
            verb = "accepted" if check is _accepted else "refused by its field"
            sentence = f"`{field}`: {len(values)} {text} values are {verb}{more}"
            row = Row(VALIDATION.name, sentence, partial(check, field, values), decided, level="write", role="manager")
            VALIDATION.rows.append(row)


for _rule in _RULES:
    _add(*_rule)


@VALIDATION.row("`id`, `name`, `description` and `version` are required", level="write", role="manager")
def _required(service: Service) -> None:
    for field in ("id", "name", "description", "version"):
        body = {name: value for name, value in service.skill().items() if name != field}
        answer = service.post("/skills", body)
        if answer.status == 201 and field != "id":
            service.remove(body["id"])
        answer.expect(answer.faults() == [field], f"a fault of {field}", answer.response.text)


@VALIDATION.row("every fault of a skill is told at once, as field and message", level="write", role="manager")
def _all_faults(service: Service) -> None:
    answer = service.post("/skills", {"id": "-", "name": "", "description": "short", "tags": ["x"], "enabled": 1})
    faults = {fault.partition("[")[0] for fault in answer.faults()}
    fields = {"id", "name", "description", "version", "tags", "enabled"}
    answer.expect(faults == fields, f"faults of {sorted(fields)}", sorted(faults))


@VALIDATION.row("an update keeps the same rules", level="write", role="manager")
def _update(service: Service) -> None:
    with service.created() as body:
        for field, value in (("name", ""), ("description", "short"), ("version", "1.0"), ("tags", ["x"])):
            service.ask("PUT", f"{service.api}/skills/{body['id']}", json={field: value}).faults()
