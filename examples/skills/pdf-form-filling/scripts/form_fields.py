#!/usr/bin/env python3
"""List the fields of a PDF form, or fill them from a JSON file. Needs the pypdf package.

form_fields.py list FORM.pdf
form_fields.py fill FORM.pdf VALUES.json FILLED.pdf
"""

import json
import sys
from pathlib import Path

from pypdf import PdfReader, PdfWriter

KINDS = {"/Tx": "text", "/Btn": "button", "/Ch": "choice", "/Sig": "signature"}


def options(field):
    """Return the values a field can take, empty if any text will do."""
    states = field.get("/_States_") or []
    return [str(state[0] if isinstance(state, list) else state) for state in states]


def read_fields(path):
    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit(f"{path}: the file is encrypted")
    form = reader.trailer["/Root"].get("/AcroForm")
    if form is not None and "/XFA" in form.get_object():
        print("note: this is an XFA form; viewers may ignore what is filled in here", file=sys.stderr)
    return reader, reader.get_fields() or {}


def list_fields(path):
    _, fields = read_fields(path)
    if not fields:
        print("no form fields")
    for name, field in fields.items():
        kind = KINDS.get(field.get("/FT"), "group")
        parts = [name, kind, f"value={field.get('/V', '')!s}"]
        if options(field):
            parts.append("options=" + ", ".join(options(field)))
        if field.get("/TU"):
            parts.append(f"hint={field['/TU']}")
        print("\t".join(parts))


def faults(fields, values):
    for name, value in values.items():
        if name not in fields:
            yield f"no such field: {name}"
        elif not isinstance(value, str):
            yield f"{name}: the value must be text"
        elif options(fields[name]) and value not in options(fields[name]):
            yield f"{name}: '{value}' is not one of {', '.join(options(fields[name]))}"


def fill(path, values_path, target):
    if Path(target).exists():
        sys.exit(f"{target} exists; choose another name")
    reader, fields = read_fields(path)
    values = json.loads(Path(values_path).read_text(encoding="utf-8"))
    wrong = list(faults(fields, values))
    if wrong:
        sys.exit("\n".join(wrong))
    writer = PdfWriter()
    writer.append(reader)
    for page in writer.pages:
        if "/Annots" in page:
            writer.update_page_form_field_values(page, values, auto_regenerate=False)
    writer.set_need_appearances_writer(True)
    writer.write(target)
    print(f"{len(values)} fields written to {target}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["list", form]:
            list_fields(form)
        case ["fill", form, values, target]:
            fill(form, values, target)
        case _:
            sys.exit(__doc__)
