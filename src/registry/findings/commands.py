"""Rules for commands that run downloaded code or give others access to the machine."""

from registry.findings.rule import Rule, other_than

_NO_OPTION = r"(?:$|[^ \t\n{stop}]|[ \t]+(?:$|[^ \t\n-]|-(?:$|[^{option}\n])))"
"""What follows a shell that does not get its command from an option."""

COMMANDS = (
    # Installers in exactly the form that their projects document. With additional arguments the rule does not match.
    Rule(
        id="known-installer",
        severity="low",
        message="a well-known installer is downloaded and run",
        pattern=(
            r"(?i)\b(?:curl(?:[ \t]+-{1,2}[a-z0-9.=-]{1,20}){0,6}|(?:irm|invoke-restmethod)(?:[ \t]+-useb)?)[ \t]+"
            r"[\"']?https://(?:astral\.sh/(?:uv|ruff)/|sh\.rustup\.rs\b|bun\.sh/|(?:bun\.)?deno\.land/|"
            r"get\.docker\.com\b|"
            r"raw\.githubusercontent\.com/(?:homebrew/install|nvm-sh/nvm|helm/helm)/|get\.helm\.sh/|ollama\.com/|"
            r"tailscale\.com/|rclone\.org/|fly\.io/|aka\.ms/|dot\.net/|aspire\.dev/|claude\.ai/install|cursor\.com/|"
            r"install\.python-poetry\.org\b|get\.pnpm\.io/|deb\.nodesource\.com/|get\.k3s\.io\b|"
            r"foundry\.paradigm\.xyz\b|"
            r"get\.scoop\.sh\b|opencode\.ai/|cli\.github\.com/|sdk\.cloud\.google\.com\b|"
            r"mise\.run\b)[a-z0-9._/-]{0,80}"
            r"[\"']?(?:[ \t]+-{1,2}[a-z0-9.=-]{1,20}){0,4}[ \t]*\\?(?:\|[ \t]*(?:sudo[ \t]+(?:-e[ \t]+)?)?"
            r"(?:(?:ba|z)?sh|iex|python3)\b|\)[ \t]*[\"'])"
        ),
    ),
    Rule(
        id="insecure-download-and-run",
        severity="high",
        message="a download from an unencrypted URL, a bare IP address or a paste site is run",
        pattern=(
            r"(?im)\b(?:curl|wget)\b[^\n]*?(?:http://"
            + other_than("localhost", "127.")
            + r"|https?://\d{1,3}\.\d{1,3}\.|"
            r"https?://(?:[a-z0-9-]{1,40}\.)?(?:pastebin\.com|paste\.ee|rentry\.co|glot\.io|hastebin\.com|"
            r"transfer\.sh|"
            r"webhook\.site|ngrok\.io|ngrok-free\.app)\b)[^\n|]*?(?:\|[^\n|"
            r"]*?)?\|[ \t]*(?:sudo[ \t]+)?(?:[a-z/]{0,12}/)?"
            r"(?:(?:ba|z|da|k)?sh|python3?|perl|ruby|node|php)\b" + _NO_OPTION.format(stop="", option="cm")
        ),
    ),
    Rule(
        id="download-and-run",
        severity="medium",
        message="a download is run without inspection",
        pattern=(
            r"(?im)\b(?:curl|wget)[ \t]+(?:-|[\"'<$]|"
            r"[a-z0-9-]{1,60}[./:])[^\n]*?\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)?)?"
            r"(?:[a-z/]{0,12}/)?(?:(?:ba|z|da|k|a|c|fi)?sh\b" + _NO_OPTION.format(stop=".", option="c") + "|"
            r"(?:python3?|perl|ruby|node|php)(?:[ \t]+-)?[ \t]*(?:$|[`\"'&;)]))"
        ),
        unless=("known-installer", "insecure-download-and-run"),
    ),
    Rule(
        id="run-of-a-download",
        severity="medium",
        message="a shell runs the output of a download",
        pattern=(
            r"(?im)(?:\b(?:ba|z|da|k)?sh|\beval|\bsource|(?:^|[ \t\r\f\v;&])\.)[ \t]+(?:-\w{1,4}[ \t]+)?[\"']?"
            r"(?:<\(|\$\(|`)[ \t]*(?:curl|wget)\b"
        ),
        but_not=(
            r"(?i)[ \t;&]?[a-z.]+[ \t]+(?:-\w{1,4}[ \t]+)?[\"']?(?:<\(|\$\(|`)[ \t]*(?:curl|wget)[ \t]+"
            r"-[a-z]{1,8}[ \t]+[\"']?https://raw\.githubusercontent\.com/(?:homebrew/install|ohmyzsh/ohmyzsh)/"
        ),
    ),
    Rule(
        id="powershell-download-and-run",
        severity="medium",
        message="PowerShell runs a download",
        pattern=(
            r"(?i)\b(?:iex|invoke-expression)\b[^\n]*?\b(?:irm|iwr|curl|invoke-webrequest|invoke-restmethod|"
            r"downloadstring)\b|\b(?:irm|iwr|invoke-webrequest|invoke-restmethod|"
            r"downloadstring)\b[^\n]*?\|[ \t]*"
            r"(?:iex|invoke-expression)\b"
        ),
        unless=("known-installer",),
    ),
    Rule(
        id="decode-and-run",
        severity="high",
        message="an encoded command is decoded and run",
        pattern=(
            r"(?i)\b(?:base64|base32|openssl[ \t]+(?:enc|base64)|xxd)[ \t]+[^\n|]*?-(?:d|r|"
            r"-decode)\b[^\n]*?"
            r"\|[ \t]*(?:[a-z0-9]{1,10}[ \t]*(?:-\w{1,4}[ \t]*)?\|[ \t]*)?(?:sudo[ \t]+)?(?:[a-z/]{0,12}/)?"
            r"(?:(?:ba|z|da|k)?sh|python3?|perl|node)\b|"
            r"\b(?:eval|(?:ba|z)?sh[ \t]+-c)\b[^\n]*?\bbase64[ \t]+-{1,2}d|"
            r"\b(?:exec|eval)[ \t]*\([^\n]*?(?:b64decode|fromhex|zlib\.decompress|marshal\.loads|atob)[ \t]*\(|"
            r"\beval[ \t]*\([ \t]*buffer\.from[ \t]*\(|"
            r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]*?[ \t]-e(?:nc|ncodedcommand|c)?[ \t]+[a-z0-9+/=]{16}"
        ),
    ),
    Rule(
        id="program-runs-a-download",
        severity="high",
        message="a program runs code that it has just downloaded",
        pattern=(
            r"(?i)\b(?:exec|eval|os\.system|subprocess\.\w{1,12}|new[ \t]+function)[ \t]*\([^\n]*?"
            r"(?:urlopen|requests\.get|httpx\.get|urllib\.request|await[ \t]+fetch)[ \t]*\(|"
            r"\bpython3?[ \t]+-c\b[^\n]*?(?:urlopen|requests\.get)[^\n]*?\b(?:exec|eval)\b|"
            r"\bfetch\([^\n]*?\.then\([ \t]*eval\b"
        ),
    ),
    Rule(
        id="fetched-binary",
        severity="medium",
        message="a program is downloaded, made executable and started in one command",
        pattern=(
            r"(?i)\b(?:curl|wget)\b[^\n]*?(?:&&|;)[ \t]*(?:sudo[ \t]+)?chmod[ \t]+[^\n]+?(?:&&|;)[ \t]*"
            r"(?:sudo[ \t]+|nohup[ \t]+)?(?:\./|/tmp/|/var/tmp/|/dev/shm/)"
        ),
    ),
    Rule(
        id="reverse-shell",
        severity="high",
        message="another machine gets a shell",
        pattern=(
            r"(?i)\b(?:ba|z)?sh[ \t]+-i\b[^\n]*?/dev/(?:tcp|udp)/|/dev/tcp/[^\n]+?(?:0>&1|<&\d|0<&)|"
            r"\bexec[ \t]+\d{1,3}<>[ \t]*/dev/tcp/|"
            r"\b(?:nc|ncat|netcat)\b[^\n]*?[ \t](?:-[a-z]{0,4}[ec]|--exec|--sh-exec)[ \t]+[\"']?(?:/|cmd|"
            r"powershell|ba?sh)|"
            r"\bmkfifo\b[^\n]*?\|[ \t]*(?:nc|ncat|netcat|telnet|openssl)\b|"
            r"\bsocat\b[^\n]*?\bexec:[\"']?[^\n ]*?sh\b|"
            r"\bsocket\b[^\n]*?\bdup2\b|\bpty\.spawn[ \t]*\([^\n]*?sh\b[^\n]*?|"
            r"\bfsockopen[ \t]*\([^\n]*?\b(?:exec|proc_open|shell_exec)\b|"
            r"\bnew-object[ \t]+(?:system\.)?net\.sockets\.tcpclient\b"
        ),
    ),
    Rule(
        id="destruction",
        severity="medium",
        message="a command deletes everything",
        pattern=(
            r"(?m)\brm[ \t]+-(?:rf|fr|r[ \t]+-f|Rf)[ \t]+(?:--no-preserve-root[ \t]+)?(?:/|~|\$HOME|\"\$HOME\")/?\*?"
            r"[ \t]*(?:$|[;&|])|:\(\)[ \t]*\{[ \t]*:[ \t]*\|[ \t]*:"
        ),
    ),
)
