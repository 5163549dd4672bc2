"""The labels of fields, tags and members of JSON that stand around a request, by what they hold."""

TASKS = frozenset(
    """
    ask bug description feature goal goals human instruction instructions intent issue objective objectives problem
    prompt q query question request story subject subtask summary task tasks title todo user what
    """.split()  # noqa: SIM905 - one word per line would take a page
) | {
    "action input", "agent task", "current objective", "current step", "current subtask", "current task",
    "feature request", "my current task", "my goal", "my question", "my task", "new task", "next", "next step",
    "next task", "original requirements", "original task", "sub task", "sub-agent task", "sub-task", "subagent task",
    "task description", "the current task", "the goal", "the task", "user input", "user intent", "user message",
    "user prompt", "user query", "user question", "user request", "user story", "your goal", "your task",
}  # fmt: skip
"""Labels of what is requested."""

BACKGROUND = frozenset(
    """
    a actual assistant assumptions audience background benefit benefits caveat constraint constraints context
    environment expected history impact motivation note notes observation persona plan rationale reference
    references response role system thought tone why
    """.split()  # noqa: SIM905 - as above
) | {
    "acceptance criteria", "actual behavior", "actual behaviour", "additional context", "additional info",
    "additional information", "conversation history", "definition of done", "expected behavior", "expected behaviour",
    "expected output", "main goal", "main task", "output format", "overall goal", "overall task", "parent goal",
    "parent issue", "parent task", "previous step", "previous steps", "previous task", "steps to reproduce",
    "success criteria",
}  # fmt: skip
"""Labels of what is said beside the request."""

DETAILS = frozenset(
    """
    action assignee assigned attached attachment attachments author branch commit component components created cwd date
    deadline due epic estimate id label labels link links milestone owner points priority repo reporter repository
    requester severity shell sprint status tags ticket timezone type updated url workspace
    """.split()  # noqa: SIM905 - as above
) | {
    "active file", "assigned to", "created by", "current branch", "current date", "current directory", "current file",
    "current mode", "current time", "current working directory", "due date", "epic link", "fix version", "git branch",
    "git status", "needed by", "open files", "open tabs", "project root", "reported by", "requested by", "session id",
    "story points", "top k", "visible files", "working directory",
}  # fmt: skip
"""Labels of what every ticket, commit or session of an agent has."""

MAIL = frozenset({"bcc", "cc", "from", "reply-to", "sent", "to"})
SUBJECT = "subject"
"""Labels of a mail, which it has beside a subject."""

TRACED = frozenset({"history", "observation", "persona", "plan", "thought"})
"""Labels of background, if a field says what is requested: `Plan:` after `Implement this.` is the task."""

ACTION, ACTION_INPUT = "action", "action input"
"""A detail of the call of a tool, which has an input beside it. Elsewhere it may be the task."""

OF_SESSIONS = frozenset({"shell", "workspace"})
"""Details beside others of a session, such as the working directory: `Shell: zsh` alone says what to set up."""

OTHERS: frozenset[str] = frozenset()
"""Labels that say something about the task."""


MEMBERS = (
    "query", "question", "prompt", "task", "request", "instruction", "input", "message", "text", "content", "arguments",
    "params", "body", "data", "messages", "contents", "parts",
)  # fmt: skip
"""The members of a JSON text that may hold the request, first those that say so themselves."""

CONTEXT_PARTS = frozenset(
    """
    additional attached attachment attachments context cwd diagnostics editor env environment git hook ide layout
    memories memory metadata reminder reminders rules selection session stderr stdout system tabs timestamp todos tools
    workspace
    """.split()  # noqa: SIM905 - one word per line would take a page
)
"""Words in the names of tags around what an agent's program adds to a prompt: `system-reminder`, `ide_opened_file`."""

CONTEXT_TAGS = frozenset({"command message", "command name", "document", "documents", "file", "files", "user info"})
"""Names of such tags."""

_NO_CONTEXT = frozenset({"a", "action", "label", "link", "plan"})
"""Labels that are names of elements in markup too, or of what is to be done."""

CONTEXT_NAMES = (BACKGROUND | DETAILS | CONTEXT_TAGS) - _NO_CONTEXT
"""Names of all tags around what is said beside a request."""

REQUEST_TAGS = TASKS | {"command args", "input", "feedback"}
"""Names of tags around what is requested."""
