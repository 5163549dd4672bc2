"""Rules for characters that an agent reads and a person does not see (Unicode TR 36 and 39; CVE-2021-42574)."""

from registry.findings.rule import Rule

HIDDEN_TEXT = (
    Rule(
        id="bidirectional-control",
        severity="high",
        message="characters that change the text direction make the text read differently from how it is displayed",
        pattern=r"[\x{202a}-\x{202e}\x{2066}-\x{2069}]",
    ),
    # The flags of England, Scotland and Wales consist of a black flag and up to seven tag characters.
    Rule(
        id="tag-characters",
        severity="high",
        message="invisible tag characters can contain a hidden text",
        pattern=r"(?m)[\x{e0000}-\x{e007f}]{8}|(?:^|[^\n\x{1f3f4}\x{e0000}-\x{e007f}])[\x{e0000}-\x{e007f}]",
    ),
    Rule(
        id="invisible-run",
        severity="high",
        message="a run of invisible characters can contain a hidden text",
        pattern=(r"[\x{200b}-\x{200d}\x{2060}-\x{2064}\x{feff}]{4,}|[\x{fe00}-\x{fe0e}]{3,}|[\x{e0100}-\x{e01ef}]{2,}"),
    ),
    # Joiners are normal between letters of other scripts and within emoji, but not within Latin words.
    Rule(
        id="zero-width-character",
        severity="medium",
        message="there is a zero-width character within the text",
        pattern=r"[\x{180e}\x{200b}\x{2060}-\x{2064}\x{3164}\x{ffa0}]|[!-~][\x{200c}\x{200d}\x{feff}][!-~]",
        unless=("invisible-run",),
    ),
    Rule(
        id="confusable-name",
        severity="medium",
        message="the name mixes Latin letters with Cyrillic or Greek ones that look the same (UTS 39)",
        pattern=(
            r"(?m)^[ \t]{0,8}name[ \t]{0,4}[:=][^\n]*?"
            r"(?:[A-Za-z][\x{0370}-\x{03ff}\x{0400}-\x{052f}]|[\x{0370}-\x{03ff}\x{0400}-\x{052f}][A-Za-z])"
        ),
        prose=True,
    ),
)
