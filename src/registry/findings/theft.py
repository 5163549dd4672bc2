"""Rules for what reads, keeps or sends credentials, and what stays on a machine after a skill is gone."""

from registry.findings.rule import Rule

CREDENTIALS = (
    Rule(
        id="credential-upload",
        severity="high",
        message="credentials or the environment are sent over the network",
        pattern=(
            r"(?i)(?:\b(?:cat|tar|zip|base64|gzip|printenv|env|set|export|find|grep|cp)\b[^\n]{0,160}?"
            r"(?:\.ssh\b|\.aws\b|\.gnupg\b|\.netrc\b|\.git-credentials\b|\.kube/config\b|/etc/shadow\b|\.env\b|"
            r"login\.keychain)|"
            r"\b(?:printenv|env)\b)[^\n]{0,120}?\|[^\n]{0,80}?\b(?:curl[ \t][^\n]{0,200}?(?:@-|-t[ \t]|--data|"
            r"-d[ \t]|-f[ \t])|"
            r"wget[ \t][^\n]{0,80}?--post|nc[ \t]|ncat[ \t]|netcat[ \t])|"
            r"\b(?:curl|wget)\b[^\n]{0,240}?(?:@|<|\$\([ \t]*(?:cat|base64)[ \t][^\n)]{0,40}?)[ \t]*[\"']?"
            r"(?:~|\$home|/home/[^/\s]{1,40}|/root|\.|[a-z0-9_/.-]{0,40})/?"
            r"(?:\.ssh/|\.aws/|\.gnupg/|\.netrc\b|\.git-credentials\b|\.kube/config\b|\.env\b(?!\.)|\.config/gcloud)|"
            r"\b(?:curl|wget)\b[^\n]{0,240}?(?:\$\(|`)[ \t]*(?:env|printenv)[ \t]*(?:\)|`|\|)|"
            r"\b(?:requests|httpx|urllib\.request|axios|session)\.(?:post|put|request|urlopen)[ \t]*\([^\n]{0,160}?"
            r"(?:dict\(os\.environ\)|\bos\.environ\b(?![.\[])|json\.dumps\(os\.environ|process\.env\b(?![.\[])|"
            r"\.ssh/id_|\.aws/credentials)|"
            r"\bscp\b[^\n]{0,80}?\.ssh/id_(?!\w{1,12}\.pub)[^\n]{1,80}?[\w.]@?[\w.-]{1,60}:"
        ),
        words=("curl", "wget", "nc"),
        hints=("ncat", "netcat", ".environ", "process.env", ".ssh", ".aws/credentials"),
    ),
    Rule(
        id="credential-read",
        severity="medium",
        message="a file of credentials is read or copied",
        pattern=(
            r"(?im)\b(?:cat|cp|less|more|head|tail|base64|xxd|strings|tar|zip|rsync|get-content|type|open|readfile"
            r"|readfilesync|read_text|read)\b[^\n]{0,100}?"
            r"(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub|\w)|\*)|\.ssh/?(?=[ \t]*(?:$|[|;&`\"']))|"
            r"\.aws/credentials\b|\.gnupg/(?:private|secring)|\.git-credentials\b|/etc/shadow\b|"
            r"\.netrc\b(?=[ \t]*(?:$|\|))|"
            r"google/chrome/[^\n]{0,40}?(?:login data|cookies)|\.mozilla/firefox/[^\n]{0,40}?logins\.json|"
            r"\.config/gcloud/(?:credentials|application_default)|\bwallet\.dat\b)"
        ),
        hints=(
            ".ssh",
            ".aws",
            ".gnupg",
            ".git-credentials",
            "shadow",
            ".netrc",
            "chrome",
            "firefox",
            "gcloud",
            "wallet.dat",
        ),
        unless=("credential-upload",),
    ),
    Rule(
        id="keychain-dump",
        severity="high",
        message="all passwords of a keychain are read",
        pattern=(
            r"(?i)\bsecurity[ \t]+dump-keychain\b|\bsecretsdump\b|\bmimikatz\b|\bsekurlsa::|"
            r"\bkeychain-db\b[^\n]{0,60}?\|"
        ),
        hints=("dump-keychain", "secretsdump", "mimikatz", "sekurlsa", "keychain-db"),
    ),
    Rule(
        id="keychain-read",
        severity="low",
        message="a password is read from the keychain",
        pattern=r"(?i)\bsecurity[ \t]+find-(?:generic|internet)-password\b|\bsecret-tool[ \t]+lookup\b",
        hints=("find-generic-password", "find-internet-password", "secret-tool"),
    ),
    Rule(
        id="instance-credentials",
        severity="medium",
        message="the credentials of a cloud machine are asked for",
        pattern=(
            r"(?i)169\.254\.169\.254/(?:latest/meta-data/iam/security-credentials|metadata/identity/oauth2)|"
            r"metadata\.google\.internal/[^\s]{0,80}?/token\b"
        ),
        hints=("169.254.169.254", "metadata.google.internal"),
    ),
)

PERSISTENCE = (
    Rule(
        id="login-key",
        severity="high",
        message="a key that opens this machine, or a right to be its administrator, is added",
        pattern=(
            r"(?i)(?:>>?|\btee\b[^\n]{0,20}?)[ \t]*[\"']?[^\s\"']{0,60}(?:\.ssh/authorized_keys|/etc/sudoers|"
            r"/etc/ld\.so\.preload|/etc/passwd)\b"
        ),
        hints=("authorized_keys", "/etc/sudoers", "ld.so.preload", "/etc/passwd"),
    ),
    Rule(
        id="hidden-start",
        severity="high",
        message="what starts with the machine or the shell fetches, decodes or hides a command",
        pattern=(
            r"(?i)(?:\becho\b|\bprintf\b|@reboot|\*/?\d{0,2}[ \t]+\*)[^\n]{0,200}?"
            r"(?:\bcurl\b|\bwget\b|/dev/tcp|\bbase64\b|\bnc[ \t]|/tmp/\.|/dev/shm|\balias[ \t]+(?:sudo|ssh|su)=|"
            r"\bld_preload=|"
            r"\bprompt_command=)[^\n]{0,200}?(?:\|[ \t]*crontab\b|>>?[ \t]*[\"']?(?:~|\$home|/root|/home/\S{1,40}|"
            r"/etc)/"
            r"(?:\.(?:bash|zsh|)_?(?:rc|profile|login|env)|cron|rc\.local|profile|systemd))"
        ),
        hints=(
            *("crontab", "/cron", "/rc.local", "/profile", "/systemd"),
            *("/.bash", "/.zsh", "/._", "/.rc", "/.profile", "/.login", "/.env"),
        ),
    ),
    Rule(
        id="agent-hooks",
        severity="medium",
        message="the settings, hooks or instructions of an agent are changed for good",
        pattern=(
            r"(?i)(?:>>?|\btee\b(?:[ \t]+-a)?)[ \t]*[\"']?(?:~|\$home|\$\{home\})/\.(?:claude|cursor|codex|gemini|"
            r"openclaw|clawdbot)/"
            r"(?:settings[a-z.]{0,12}\.json|hooks|claude\.md|agents\.md|rules|mcp\.json)"
        ),
        hints=("/.claude", "/.cursor", "/.codex", "/.gemini", "/.openclaw", "/.clawdbot"),
    ),
    Rule(
        id="persistence",
        severity="low",
        message="something is made to start by itself",
        pattern=(
            r"(?i)\|[ \t]*crontab[ \t]+-|\bcrontab[ \t]+[\w./-]{2,60}\.(?:txt|cron)\b|\blaunchctl[ \t]+(?:load|"
            r"bootstrap)\b|"
            r"\bsystemctl[ \t]+(?:--user[ \t]+)?enable\b|\bschtasks\b[^\n]{0,20}/create\b|\bcurrentversion\\run\b|"
            r">>[ \t]*[\"']?(?:~|\$home)/\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv)\b"
        ),
        hints=(
            "crontab",
            "launchctl",
            "systemctl",
            "schtasks",
            "currentversion\\run",
            "/.bash",
            "/.zsh",
            "/.profile",
            "/.zprofile",
        ),
        unless=("hidden-start",),
    ),
)
