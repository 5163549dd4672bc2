"""Rules for characters a person does not see and an agent reads (Unicode TR 36 and 39; CVE-2021-42574)."""

from registry.findings.rule import Rule

HIDDEN_TEXT = (
    Rule(
        id="bidirectional-control",
        severity="high",
        message="characters that change the direction of text make it read otherwise than it is shown",
        pattern=r"[\u202a-\u202e\u2066-\u2069]",
    ),
    # The flags of England, Scotland and Wales are a black flag and up to seven of these.
    Rule(
        id="tag-characters",
        severity="high",
        message="invisible tag characters can carry a whole hidden text",
        pattern=r"[\U000e0000-\U000e007f]{8}|(?<![\U0001f3f4\U000e0000-\U000e007f])[\U000e0000-\U000e007f]",
    ),
    Rule(
        id="invisible-run",
        severity="high",
        message="a run of invisible characters can carry a hidden text",
        pattern=(
            r"[\u200b-\u200d\u2060-\u2064\ufeff]{4,}(?![\u200b-\u200d\u2060-\u2064\ufeff])|"
            r"[\ufe00-\ufe0e]{3,}(?![\ufe00-\ufe0e])|[\U000e0100-\U000e01ef]{2,}(?![\U000e0100-\U000e01ef])"
        ),
    ),
    # Joiners between letters of other scripts and within emoji are spelling; within Latin words they are not.
    Rule(
        id="zero-width-character",
        severity="medium",
        message="a zero-width character stands within the text",
        pattern=r"[\u180e\u200b\u2060-\u2064\u3164\uffa0]|(?<=[!-~])[\u200c\u200d\ufeff](?=[!-~])",
        unless=("invisible-run",),
    ),
    Rule(
        id="confusable-name",
        severity="medium",
        message="the name mixes Latin with Cyrillic or Greek letters that look alike (UTS 39)",
        pattern=(
            r"(?m)^[ \t]{0,8}name[ \t]{0,4}[:=][^\n]{0,100}?"
            r"(?:[A-Za-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][A-Za-z])"
        ),
        words=("name",),
        prose=True,
    ),
)
