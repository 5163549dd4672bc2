#!/usr/bin/env python3
"""Print the WCAG contrast ratio of two colours and what it suffices for.

contrast.py FOREGROUND BACKGROUND      colours as #rgb or #rrggbb
"""

import re
import sys


def channels(colour):
    """Return red, green and blue of a colour from 0 to 1."""
    match = re.fullmatch(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", colour)
    if not match:
        sys.exit(f"'{colour}' is not a colour such as #767676")
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    return [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]


def luminance(colour):
    """Return the relative luminance as WCAG 2.2 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ratio = contrast(*sys.argv[1:])
    print(f"{int(ratio * 100) / 100:.2f}:1")
    for needed, what in ((3, "large text and parts of controls (AA)"), (4.5, "text (AA)"), (7, "text (AAA)")):
        print(f"  {'yes' if ratio >= needed else 'no ':3} {what}, needs {needed}:1")


if __name__ == "__main__":
    main()
