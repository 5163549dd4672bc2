"""Rules for commands that run what a stranger serves, or open the machine to one."""

from registry.findings.rule import Rule

_FETCHERS = ("curl", "wget")

COMMANDS = (
    # The installers their projects document in just this form; what else stands in the command makes it another one.
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
        words=("curl", "irm", "invoke-restmethod"),
    ),
    Rule(
        id="insecure-download-and-run",
        severity="high",
        message="what is downloaded from an address without encryption or a name, or a paste site, is run",
        pattern=(
            r"(?i)\b(?:curl|wget)\b[^\n]{0,200}?(?:http://(?!localhost|127\.)|https?://\d{1,3}\.\d{1,3}\.|"
            r"https?://(?:[a-z0-9-]{1,40}\.)?(?:pastebin\.com|paste\.ee|rentry\.co|glot\.io|hastebin\.com|"
            r"transfer\.sh|"
            r"webhook\.site|ngrok\.io|ngrok-free\.app)\b)[^\n|]{0,200}(?:\|[^\n|"
            r"]{0,60})?\|[ \t]*(?:sudo[ \t]+)?(?:[a-z/]{0,12}/)?"
            r"(?:(?:ba|z|da|k)?sh|python3?|perl|ruby|node|php)\b(?![ \t]+-[cm])"
        ),
        words=_FETCHERS,
    ),
    Rule(
        id="download-and-run",
        severity="medium",
        message="what is downloaded is run unseen",
        pattern=(
            r"(?im)\b(?:curl|wget)[ \t]+(?:-|[\"'<$]|"
            r"[a-z0-9-]{1,60}[./:])[^\n]{0,300}?\|[ \t]*(?:sudo[ \t]+(?:-\w+[ \t]+)?)?"
            r"(?:[a-z/]{0,12}/)?(?:(?:ba|z|da|k|a|c|fi)?sh\b(?![ \t]+-c|\.)|"
            r"(?:python3?|perl|ruby|node|php)(?:[ \t]+-)?[ \t]*(?:$|[`\"'&;)]))"
        ),
        words=_FETCHERS,
        unless=("known-installer", "insecure-download-and-run"),
    ),
    Rule(
        id="run-of-a-download",
        severity="medium",
        message="a shell runs the output of a download",
        pattern=(
            r"(?i)(?:\b(?:ba|z|da|k)?sh|\beval|\bsource|(?<![^\s;&])\.)[ \t]+(?:-\w{1,4}[ \t]+)?[\"']?"
            r"(?:<\(|\$\(|`)[ \t]*(?:curl|wget)\b(?![ \t]+-[a-z]{1,8}[ \t]+[\"']?https://raw\.githubusercontent\.com/"
            r"(?:homebrew/install|ohmyzsh/ohmyzsh)/)"
        ),
        words=_FETCHERS,
    ),
    Rule(
        id="powershell-download-and-run",
        severity="medium",
        message="PowerShell runs what it downloads",
        pattern=(
            r"(?i)\b(?:iex|invoke-expression)\b[^\n]{0,120}?\b(?:irm|iwr|curl|invoke-webrequest|invoke-restmethod|"
            r"downloadstring)\b|\b(?:irm|iwr|invoke-webrequest|invoke-restmethod|"
            r"downloadstring)\b[^\n]{0,200}?\|[ \t]*"
            r"(?:iex|invoke-expression)\b"
        ),
        words=("iex", "invoke-expression"),
        unless=("known-installer",),
    ),
    Rule(
        id="decode-and-run",
        severity="high",
        message="a command is decoded from a form nobody can read and run",
        pattern=(
            r"(?i)\b(?:base64|base32|openssl[ \t]+(?:enc|base64)|xxd)[ \t]+[^\n|]{0,40}?-(?:d|r|"
            r"-decode)\b[^\n]{0,120}?"
            r"\|[ \t]*(?:[a-z0-9]{1,10}[ \t]*(?:-\w{1,4}[ \t]*)?\|[ \t]*)?(?:sudo[ \t]+)?(?:[a-z/]{0,12}/)?"
            r"(?:(?:ba|z|da|k)?sh|python3?|perl|node)\b|"
            r"\b(?:eval|(?:ba|z)?sh[ \t]+-c)\b[^\n]{0,80}?\bbase64[ \t]+-{1,2}d|"
            r"\b(?:exec|eval)[ \t]*\([^\n]{0,60}?(?:b64decode|fromhex|zlib\.decompress|marshal\.loads|atob)[ \t]*\(|"
            r"\beval[ \t]*\([ \t]*buffer\.from[ \t]*\(|"
            r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}?[ \t]-e(?:nc|ncodedcommand|c)?[ \t]+[a-z0-9+/=]{16}"
        ),
        words=("base64", "base32", "openssl", "xxd"),
        hints=(
            "b64decode",
            "fromhex",
            "decompress",
            "marshal",
            "atob",
            "buffer.from",
            "powershell",
            "pwsh",
        ),
    ),
    Rule(
        id="program-runs-a-download",
        severity="high",
        message="a program runs code it has just downloaded",
        pattern=(
            r"(?i)\b(?:exec|eval|os\.system|subprocess\.\w{1,12}|new[ \t]+function)[ \t]*\([^\n]{0,80}?"
            r"(?:urlopen|requests\.get|httpx\.get|urllib\.request|await[ \t]+fetch)[ \t]*\(|"
            r"\bpython3?[ \t]+-c\b[^\n]{0,200}?(?:urlopen|requests\.get)[^\n]{0,200}?\b(?:exec|eval)\b|"
            r"\bfetch\([^\n]{0,120}?\.then\([ \t]*eval\b"
        ),
        hints=("urlopen", "requests.get", "httpx.get", "urllib.request", "fetch"),
    ),
    Rule(
        id="fetched-binary",
        severity="medium",
        message="a program is downloaded, made executable and started in one command",
        pattern=(
            r"(?i)\b(?:curl|wget)\b[^\n]{0,300}?(?:&&|;)[ \t]*(?:sudo[ \t]+)?chmod[ \t]+[^\n]{1,80}?(?:&&|;)[ \t]*"
            r"(?:sudo[ \t]+|nohup[ \t]+)?(?:\./|/tmp/|/var/tmp/|/dev/shm/)"
        ),
        words=_FETCHERS,
    ),
    Rule(
        id="reverse-shell",
        severity="high",
        message="a shell is handed to another machine",
        pattern=(
            r"(?i)\b(?:ba|z)?sh[ \t]+-i\b[^\n]{0,40}?/dev/(?:tcp|udp)/|/dev/tcp/[^\n]{1,80}?(?:0>&1|<&\d|0<&)|"
            r"\bexec[ \t]+\d{1,3}<>[ \t]*/dev/tcp/|"
            r"\b(?:nc|ncat|netcat)\b[^\n]{0,60}?[ \t](?:-[a-z]{0,4}[ec]|--exec|--sh-exec)[ \t]+[\"']?(?:/|cmd|"
            r"powershell|ba?sh)|"
            r"\bmkfifo\b[^\n]{0,160}?\|[ \t]*(?:nc|ncat|netcat|telnet|openssl)\b|"
            r"\bsocat\b[^\n]{0,120}?\bexec:[\"']?[^\n ]{0,20}sh\b|"
            r"\bsocket\b[^\n]{0,200}?\bdup2\b|\bpty\.spawn[ \t]*\([^\n]{0,30}sh\b[^\n]{0,80}?|"
            r"\bfsockopen[ \t]*\([^\n]{0,120}?\b(?:exec|proc_open|shell_exec)\b|"
            r"\bnew-object[ \t]+(?:system\.)?net\.sockets\.tcpclient\b"
        ),
        words=("nc",),
        hints=(
            "/dev/tcp",
            "/dev/udp",
            "ncat",
            "netcat",
            "mkfifo",
            "socat",
            "dup2",
            "pty.spawn",
            "fsockopen",
            "tcpclient",
        ),
    ),
    Rule(
        id="destruction",
        severity="medium",
        message="a command removes everything there is",
        pattern=(
            r"(?m)\brm[ \t]+-(?:rf|fr|r[ \t]+-f|Rf)[ \t]+(?:--no-preserve-root[ \t]+)?(?:/|~|\$HOME|\"\$HOME\")/?\*?"
            r"[ \t]*(?:$|[;&|])|:\(\)[ \t]*\{[ \t]*:[ \t]*\|[ \t]*:"
        ),
        words=("rm",),
        hints=(":()",),
    ),
)
