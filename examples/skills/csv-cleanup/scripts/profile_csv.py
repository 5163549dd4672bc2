#!/usr/bin/env python3
"""Describe a CSV file: encoding, delimiter, rows of the wrong length, and what each column holds.

profile_csv.py FILE
"""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

EMPTY = {"", "-", "n/a", "na", "null", "none", "nan", "?"}
KINDS = {
    "ISO date": re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?"),
    "other date": re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"),
    "leading zero": re.compile(r"0\d+"),
    "whole number": re.compile(r"[+-]?\d+"),
    "number, point": re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?\.\d+"),
    "number, comma": re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?,\d+"),
}


def decode(data):
    """Return the text and the name of the encoding it was read with."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "utf-16"
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252 (a guess)"


def delimiter_of(text):
    """Return the delimiter that splits most of the first lines into the same number of fields, above one."""
    lines = [line for line in text.splitlines()[:50] if line.strip()]

    def agreement(delimiter):
        counts = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        width, rows = counts.most_common(1)[0]
        return (width > 1) * rows, width

    return max(",;\t|", key=agreement) if lines else ","


def kind_of(value):
    return next((kind for kind, pattern in KINDS.items() if pattern.fullmatch(value)), "text")


def describe(name, values):
    stripped = [value.strip() for value in values]
    filled = [value for value in stripped if value.lower() not in EMPTY]
    kinds = Counter(map(kind_of, filled))
    print(f"\n{name or '(no name)'}")
    print(f"  empty {len(values) - len(filled)}, different {len(set(filled))}, of {len(values)}")
    print("  looks like " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "nothing"))
    print("  examples   " + " | ".join(value[:40] for value, _ in Counter(filled).most_common(4)))
    spaces = sum(value != clean for value, clean in zip(values, stripped, strict=True))
    if spaces:
        print(f"  {spaces} values with spaces around them")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    csv.field_size_limit(2**30)
    text, encoding = decode(Path(sys.argv[1]).read_bytes())
    delimiter = delimiter_of(text)
    rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row]
    if not rows:
        sys.exit("the file holds no rows")
    header, body = rows[0], rows[1:]
    print(f"encoding {encoding}, delimiter {delimiter!r}, {len(header)} columns, {len(body)} rows below the header")
    odd = [(number, len(row)) for number, row in enumerate(body, 2) if len(row) != len(header)]
    for number, width in odd[:20]:
        print(f"row {number} has {width} fields")
    if len(odd) > 20:
        print(f"... and {len(odd) - 20} more rows of another length")
    repeated = len(body) - len(set(map(tuple, body)))
    if repeated:
        print(f"{repeated} rows repeat an earlier one")
    for column, name in enumerate(header):
        describe(name, [row[column] for row in body if column < len(row)])


if __name__ == "__main__":
    main()
