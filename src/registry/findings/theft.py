"""Rules for access to credentials, and for changes that persist after a skill is removed."""

from registry.findings.rule import Rule, other_than

_NOT_PUB = r"\." + other_than("pub")
"""The end of the name of a private key. Public keys are for everybody."""

CREDENTIALS = (
    Rule(
        id="credential-upload",
        severity="high",
        message="credentials or the environment are sent over the network",
        pattern=(
            r"(?im)(?:\b(?:cat|tar|zip|base64|gzip|printenv|env|set|export|find|grep|cp)\b[^\n]*?"
            r"(?:\.ssh\b|\.aws\b|\.gnupg\b|\.netrc\b|\.git-credentials\b|\.kube/config\b|/etc/shadow\b|\.env\b|"
            r"login\.keychain)|"
            r"\b(?:printenv|env)\b)[^\n]*?\|[^\n]*?\b(?:curl[ \t][^\n]*?(?:@-|-t[ \t]|--data|"
            r"-d[ \t]|-f[ \t])|"
            r"wget[ \t][^\n]*?--post|nc[ \t]|ncat[ \t]|netcat[ \t])|"
            r"\b(?:curl|wget)\b[^\n]*?(?:@|<|\$\([ \t]*(?:cat|base64)[ \t][^\n)]*?)[ \t]*[\"']?"
            r"(?:~|\$home|/home/[^/\s]{1,40}|/root|\.|[a-z0-9_/.-]{0,40})/?"
            r"(?:\.ssh/|\.aws/|\.gnupg/|\.netrc\b|\.git-credentials\b|\.kube/config\b|\.env\b(?:$|[^.\n])|\.config/gcloud)|"
            r"\b(?:curl|wget)\b[^\n]*?(?:\$\(|`)[ \t]*(?:env|printenv)[ \t]*(?:\)|`|\|)|"
            r"\b(?:requests|httpx|urllib\.request|axios|session)\.(?:post|put|request|urlopen)[ \t]*\([^\n]*?"
            r"(?:dict\(os\.environ\)|\bos\.environ\b(?:$|[^.\[\n])|json\.dumps\(os\.environ|process\.env\b(?:$|[^.\[\n])|"
            r"\.ssh/id_|\.aws/credentials)|"
            r"\bscp\b[^\n]*?\.ssh/id_\w*(?:[^\w.\n]|" + _NOT_PUB + r")[^\n]*?[\w.]@?[\w.-]{1,60}:"
        ),
    ),
    Rule(
        id="credential-read",
        severity="medium",
        message="a credential file is read or copied",
        pattern=(
            r"(?im)\b(?:cat|cp|less|more|head|tail|base64|xxd|strings|tar|zip|rsync|get-content|type|open|readfile"
            r"|readfilesync|read_text|read)\b[^\n]*?"
            r"(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:$|[^\w.\n]|" + _NOT_PUB + r")|\*)|"
            r"\.ssh/?[ \t]*(?:$|[|;&`\"'])|"
            r"\.aws/credentials\b|\.gnupg/(?:private|secring)|\.git-credentials\b|/etc/shadow\b|"
            r"\.netrc\b[ \t]*(?:$|\|)|"
            r"google/chrome/[^\n]*?(?:login data|cookies)|\.mozilla/firefox/[^\n]*?logins\.json|"
            r"\.config/gcloud/(?:credentials|application_default)|\bwallet\.dat\b)"
        ),
        unless=("credential-upload",),
    ),
    Rule(
        id="keychain-dump",
        severity="high",
        message="all passwords of a keychain are read",
        pattern=(
            r"(?i)\bsecurity[ \t]+dump-keychain\b|\bsecretsdump\b|\bmimikatz\b|\bsekurlsa::|"
            r"\bkeychain-db\b[^\n]*?\|"
        ),
    ),
    Rule(
        id="keychain-read",
        severity="low",
        message="a password is read from the keychain",
        pattern=r"(?i)\bsecurity[ \t]+find-(?:generic|internet)-password\b|\bsecret-tool[ \t]+lookup\b",
    ),
    Rule(
        id="instance-credentials",
        severity="medium",
        message="the credentials of a cloud instance are requested",
        pattern=(
            r"(?i)169\.254\.169\.254/(?:latest/meta-data/iam/security-credentials|metadata/identity/oauth2)|"
            r"metadata\.google\.internal/[^\s]*?/token\b"
        ),
    ),
)

PERSISTENCE = (
    Rule(
        id="login-key",
        severity="high",
        message="a login key or an administrator right is added to this machine",
        pattern=(
            r"(?i)(?:>>?|\btee\b[^\n]*?)[ \t]*[\"']?[^\s\"']*?(?:\.ssh/authorized_keys|/etc/sudoers|"
            r"/etc/ld\.so\.preload|/etc/passwd)\b"
        ),
    ),
    Rule(
        id="hidden-start",
        severity="high",
        message="a command that starts with the machine or the shell downloads, decodes or hides a command",
        pattern=(
            r"(?i)(?:\becho\b|\bprintf\b|@reboot|\*/?\d{0,2}[ \t]+\*)[^\n]*?"
            r"(?:\bcurl\b|\bwget\b|/dev/tcp|\bbase64\b|\bnc[ \t]|/tmp/\.|/dev/shm|\balias[ \t]+(?:sudo|ssh|su)=|"
            r"\bld_preload=|"
            r"\bprompt_command=)[^\n]*?(?:\|[ \t]*crontab\b|>>?[ \t]*[\"']?(?:~|\$home|/root|/home/\S{1,40}|"
            r"/etc)/"
            r"(?:\.(?:bash|zsh|)_?(?:rc|profile|login|env)|cron|rc\.local|profile|systemd))"
        ),
    ),
    Rule(
        id="agent-hooks",
        severity="medium",
        message="the settings, hooks or instructions of an agent are changed permanently",
        pattern=(
            r"(?i)(?:>>?|\btee\b(?:[ \t]+-a)?)[ \t]*[\"']?(?:~|\$home|\$\{home\})/\.(?:claude|cursor|codex|gemini|"
            r"openclaw|clawdbot)/"
            r"(?:settings[a-z.]{0,12}\.json|hooks|claude\.md|agents\.md|rules|mcp\.json)"
        ),
    ),
    Rule(
        id="persistence",
        severity="low",
        message="something is configured to start automatically",
        pattern=(
            r"(?i)\|[ \t]*crontab[ \t]+-|\bcrontab[ \t]+[\w./-]{2,60}\.(?:txt|cron)\b|\blaunchctl[ \t]+(?:load|"
            r"bootstrap)\b|"
            r"\bsystemctl[ \t]+(?:--user[ \t]+)?enable\b|\bschtasks\b[^\n]*?/create\b|\bcurrentversion\\run\b|"
            r">>[ \t]*[\"']?(?:~|\$home)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b"
        ),
        unless=("hidden-start",),
    ),
)
