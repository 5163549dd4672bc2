"""Rules for secrets that should not be published. The patterns follow the formats that the issuers document."""

from registry.findings.rule import Rule
from registry.parsing.private_keys import PRIVATE_KEY

SECRETS = (
    Rule(
        id="private-key",
        severity="high",
        message="the file contains a private key",
        pattern=PRIVATE_KEY,
        within=4000,
    ),
    Rule(
        id="access-token",
        severity="medium",
        message="the file contains what looks like a valid access token",
        pattern=(
            r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|"
            r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b|\bglpat-[A-Za-z0-9_-]{20}\b|"
            r"\bxox[abpr]-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9-]{24,40}\b|"
            r"\bsk-ant-api03-[A-Za-z0-9_-]{80,120}\b|"
            r"\bsk-(?:proj-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}\b|"
            r"\b[sr]k_live_[A-Za-z0-9]{24,99}\b|\bsrt_[A-Za-z0-9]{49}\b|"
            r"\bAIza[A-Za-z0-9_-]{35}\b|\bnpm_[A-Za-z0-9]{36}\b|"
            r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50}|"
            r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b|"
            r"\bhttps://hooks\.slack\.com/services/T[A-Z0-9]{8,10}/B[A-Z0-9]{8,10}/[A-Za-z0-9]{24}\b|"
            r"\bhttps://discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,70}\b"
        ),
        # The placeholders of documentation.
        but_not=(
            r"A[KS]IA(?:[A-Z0-9]{0,16}EXAMPLE|XXXX)|gh[pousr]_(?:[xX]{4}|1234|abcd)|sk-ant-api03-[xX.]{3}|"
            r"(?:github_pat_|glpat-|sk-(?:proj-)?|[sr]k_live_|srt_|AIza|npm_|SG\.)[xX]{4}|"
            r"https://hooks\.slack\.com/services/(?:T[X0]{4}|T[A-Z0-9]{8,10}/B(?:[X0]{4}|[A-Z0-9]{8,10}/[xX]{4}))"
        ),
    ),
)
