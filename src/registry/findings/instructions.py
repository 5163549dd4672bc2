"""Rules for prompt injection: text that turns an agent against its user."""

from registry.findings.rule import Rule

INSTRUCTIONS = (
    Rule(
        id="override-instructions",
        severity="high",
        message="the text tells the agent to ignore its other instructions",
        pattern=(
            r"(?i)\b(?:ignore|disregard|forget|override)[ \t\r\n]+(?:(?:all|any|every|the|your|of|my|these|"
            r"those)[ \t\r\n]+){0,4}"
            r"(?:previous|prior|above|earlier|preceding|former|existing|system|safety)[ \t\r\n]+"
            r"(?:[\pL\pN_]+[ \t\r\n]+)?(?:instructions?|prompts?|rules|directions|guidelines|directives|policies)\b"
        ),
        prose=True,
    ),
    Rule(
        id="hide-from-user",
        severity="medium",
        message="the text tells the agent to hide its actions from the user",
        pattern=(
            r"(?im)\b(?:do[ \t]+not|don['’]t|never|must[ \t]+not|without)[ \t\r\n]+(?:ever[ \t]+)?"
            r"(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|let(?:ting)?|mention(?:ing)?|"
            r"reveal(?:ing)?|disclos(?:e|ing))"
            r"[ \t\r\n]+(?:(?:this|that|it|any[ \t]+of[ \t]+this|these[ \t]+steps)[ \t\r\n]+to[ \t\r\n]+)?(?:the|"
            r"your)[ \t\r\n]+"
            r"(?:user|human|operator|owner)(?:[ \t\r\n]+(?:about[ \t]+(?:this|it|these|what)|that[ \t]+you|"
            r"what[ \t]+you|of[ \t]+this|"
            r"know)\b|[ \t]*(?:[.!;]|$))"
        ),
        prose=True,
    ),
    Rule(
        id="secret-upload",
        severity="high",
        message="the text tells the agent to send secrets or the conversation elsewhere",
        pattern=(
            r"(?i)\b(?:send|upload|post|forward|exfiltrate|transmit|leak|copy)\b[^.\n]*?\b(?:conversation|"
            r"chat[ \t]+history|"
            r"environment[ \t]+variables|\.env[ \t]+file|api[ \t]+keys|credentials|passwords|private[ \t]+keys?|"
            r"ssh[ \t]+keys?|"
            r"system[ \t]+prompt|seed[ \t]+phrase|tokens)\b[^.\n]*?\bto[ \t]+[`\"'<(]{0,2}(?:https?://|"
            r"[a-z0-9-]{1,40}@)"
        ),
        prose=True,
    ),
    Rule(
        id="secretly",
        severity="medium",
        message="the text tells the agent to act secretly",
        pattern=(
            r"(?i)\b(?:silently|secretly|covertly|quietly)[ \t\r\n]+(?:send|upload|post|forward|exfiltrate|transmit|"
            r"copy|run|execute|"
            r"install|download|read|collect)\b[^.\n]*?\b(?:credentials?|keys?|secrets?|tokens?|passwords?|"
            r"conversation|history|"
            r"environment|\.env|\.ssh|https?:|wallet)"
        ),
        prose=True,
    ),
    Rule(
        id="no-permission",
        severity="low",
        message="the text asks for an agent that does not ask for permission",
        pattern=r"(?i)--dangerously-skip-permissions\b|--yolo\b|\bbypasspermissions\b",
    ),
)
