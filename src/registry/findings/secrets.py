"""Rules for secrets that should not be published. The patterns follow the formats that the issuers document."""

from registry.findings.rule import Rule
from registry.parsing.private_keys import PRIVATE_KEY

SECRETS = (
    Rule(
        id="private-key",
        severity="high",
        message="the file contains a private key",
        pattern=PRIVATE_KEY,
        hints=("private key", "putty-user-key-file"),
        across_lines=True,
    ),
    Rule(
        id="access-token",
        severity="medium",
        message="the file contains what looks like a valid access token",
        pattern=(
            r"\b(?:AKIA|ASIA)(?![A-Z0-9]{0,16}EXAMPLE)(?!X{4})[A-Z2-7]{16}\b|\bgh[pousr]_(?![xX]{4}|1234|"
            r"abcd)[A-Za-z0-9]{36}\b|"
            r"\bgithub_pat_(?![xX]{4})[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b|\bglpat-(?![xX]{4})[A-Za-z0-9_-]{20}\b|"
            r"\bxox[abpr]-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9-]{24,40}\b|"
            r"\bsk-ant-api03-(?![xX.]{3})[A-Za-z0-9_-]{80,120}\b|"
            r"\bsk-(?:proj-)?(?![xX]{4})[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}\b|"
            r"\b[sr]k_live_(?![xX]{4})[A-Za-z0-9]{24,99}\b|"
            r"\bsrt_(?![xX]{4})[A-Za-z0-9]{49}\b|"
            r"\bAIza(?![xX]{4})[A-Za-z0-9_-]{35}\b|\bnpm_(?![xX]{4})[A-Za-z0-9]{36}\b|"
            r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50}|"
            r"\bSG\.(?![xX]{4})[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b|"
            r"\bhttps://hooks\.slack\.com/services/T(?![X0]{4})[A-Z0-9]{8,10}/B(?![X0]{4})[A-Z0-9]{8,10}/(?![xX]{4})[A-Za-z0-9]{24}\b|"
            r"\bhttps://discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,70}\b"
        ),
        hints=(
            "akia",
            "asia",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "xoxa-",
            "xoxb-",
            "xoxp-",
            "xoxr-",
            "sk-ant-",
            "t3blbkfj",
            "k_live_",
            "srt_",
            "aiza",
            "npm_",
            "pypi-ageic",
            "sg.",
            ":aa",
            "hooks.slack.com",
            "api/webhooks",
        ),
    ),
)
