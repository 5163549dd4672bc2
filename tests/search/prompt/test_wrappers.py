"""Tags, fields and signatures around a request are no part of it; markup and texts that a request is about are."""

import json

import pytest

from search.prompt.reading import read_prompt

REQUEST = "add a dark mode to the page"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (f"<user_query>{REQUEST}</user_query>", REQUEST),
        (f"<user_query>\n{REQUEST}\n</user_query>\n", REQUEST),
        (f"<style-guide>Use plain CSS only</style-guide>\n{REQUEST}", f"Use plain CSS only\n{REQUEST}"),
        ("<context>we want a dark mode</context>", "we want a dark mode"),
    ],
)
def test_tags_around_sentences_are_left_out(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text == text


@pytest.mark.parametrize(
    "prompt",
    [
        f"<system-reminder>The plan mode is on.</system-reminder>\n<task>{REQUEST}</task>",
        f"{REQUEST}\n<context>we use plain CSS</context>",
        f"<environment_context>\n  <cwd>/srv/shop</cwd>\n  <shell>bash</shell>\n</environment_context>\n\n{REQUEST}",
        f"<task>\n{REQUEST}\n</task>\n\n<environment_details>\n# Open Tabs\nsrc/a.ts\n</environment_details>",
        f'<attachment id="a.ts" filePath="/srv/a.ts">\nlet a;\n</attachment>\n<userRequest>\n{REQUEST}\n</userRequest>',
        f"<command-message>add is running</command-message>\n<command-name>/add</command-name>\n"
        f"<command-args>{REQUEST}</command-args>",
        f"# AGENTS.md instructions for /srv/shop\n\n<INSTRUCTIONS>\nUse pnpm.\n</INSTRUCTIONS>\n\n{REQUEST}",
        f"# Context from my IDE setup:\n\n## Open tabs:\n- a.ts: src/a.ts\n\n## My request for Codex:\n{REQUEST}",
        f"--- Content from referenced files ---\nContent from @a.ts:\nlet a\n--- End of content ---\n{REQUEST}",
        f"<|im_start|>system\nYou are a bot.<|im_end|>\n<|im_start|>user\n{REQUEST}<|im_end|>\n<|im_start|>assistant",
        f"<|start_header_id|>user<|end_header_id|>\n\n{REQUEST}<|eot_id|>",
        f'find_skill({{"query": "{REQUEST}", "limit": 5}})',
        f"cwd: /srv/shop\nbranch: main\n{REQUEST}",
        f"[context: repo=acme/shop, branch=main] {REQUEST}",
        f"[Request interrupted by user] {REQUEST}",
        f"Today's date is 2026-11-29. {REQUEST}",
        f"You have access to the following tools: bash, edit, read. Today is 2026-11-29. {REQUEST}",
        f"I am an autonomous coding agent. My current task: {REQUEST}",
        f"Thought: I need a skill.\nAction: find_skill\nAction Input: {REQUEST}",
        f"You have tools.\n\nQuestion: the input question\nThought: think\n\nBegin!\n\nQuestion: {REQUEST}\nThought:",
        f"Current Task: {REQUEST}\n\nThis is the expected criteria for your final answer: a list\n\nThought:",
        f"### Task ###\n{REQUEST}\n### Context ###\nWe sell shoes.",
        f"Query: {REQUEST}\nTop k: 5",
        f"Here is the task: {REQUEST}",
        f"Select the best tool or skill to handle this: {REQUEST}",
        f"{REQUEST}\nReturn only the skill name.",
        f"No wait, actually: {REQUEST}",
        f"Continue.\n{REQUEST}",
    ],
)
def test_what_an_agents_program_says_is_not_searched(prompt: str) -> None:
    assert read_prompt(prompt).text == REQUEST


@pytest.mark.parametrize(
    "prompt",
    [
        "<environment_details>\n# Open Tabs\nsrc/a.ts\n</environment_details>",
        "<|im_start|>user\n<|im_end|>",
        "# AGENTS.md instructions for /srv/shop",
        "## My request for Codex:\n",
        "render(",
        "next, now.",
        "Next.js app router",
        "now playing widget for the desktop",
        "no-code app builder",
        "and, or, not gates in Verilog",
        "now, later, never: a to-do app",
        "Continue reading where I stopped",
    ],
)
def test_a_prompt_that_is_nothing_else_is_searched(prompt: str) -> None:
    assert read_prompt(prompt).text.split() == read_prompt(prompt).written.split()


def test_words_of_the_context_stay_as_a_weak_signal() -> None:
    read = read_prompt(f"<environment_context>vitest and pnpm</environment_context>\n{REQUEST}")
    assert ("vitest" in read.identifiers, read.left_out) == (True, len("vitest and pnpm"))


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (f"implement this plan:\n<plan>\n{REQUEST}\n</plan>", f"implement this plan:\n{REQUEST}"),
        (f"<plan>\n{REQUEST}\n</plan>\nimplement this", f"{REQUEST}\nimplement this"),
        ("mock these tools:\n<tools>\na weather API\n</tools>", "mock these tools:\na weather API"),
        ("fix this:\n<document><a>b</a></document>", "fix this:\n<document><a>b</a></document>"),
        ("<label>Address of the user</label>\nalign it", "Address of the user\nalign it"),
        (f"<context>\n{REQUEST}\n</context>\nhow do I start?", f"how do I start?\n{REQUEST}"),
        ("explain the <|im_start|>user token", "explain the <|im_start|>user token"),
        ("what does <|endoftext|> mean", "what does <|endoftext|> mean"),
        (f"# My task\n{REQUEST}\n# My question\nwhich font fits?", f"{REQUEST}\nwhich font fits?"),
        ("<Tabs>\nthree of them here\n</Tabs>\nmake it sticky", "three of them here\nmake it sticky"),
        ("# Shop\nBuild it\n# The task\nfor today: a cart", "# Shop\nBuild it\nfor today: a cart"),
        ("draw a chart\n# The question\nwhich library?", "draw a chart\nwhich library?"),
        ("# CLAUDE.md instructions\nfor a Django shop", "# CLAUDE.md instructions\nfor a Django shop"),
    ],
)
def test_a_task_in_what_may_be_a_context_is_searched(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text == text


@pytest.mark.parametrize(
    "prompt",
    [
        "<my-button>Save the document now</my-button> does not render",
        "why is <b>this one word</b> not bold",
        "<script>alert(1)</script>",
        "<user_query>add a dark mode",
        "<order><item>Two cups of tea</item></order>",
        f"{'<a>' * 3000}</b>",
    ],
)
def test_markup_stays(prompt: str) -> None:
    assert read_prompt(prompt).text == prompt


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (f"Title: {REQUEST}\nPriority: high\nAssignee: anna\nLabels: frontend, bug", REQUEST),
        (f"**Goal:** {REQUEST}\n**Constraints:** keep the tests green\nno new files", REQUEST),
        (f"Context: we have a monorepo with pnpm. Task: {REQUEST}", REQUEST),
        (f"Summary: {REQUEST}\nSteps to reproduce:\n1. open it\n2. click\n\nExpected: it works", REQUEST),
        (f"## Feature request\n{REQUEST}\n## Additional context\nWe need it.\n\nSoon.\n## Status\nopen", REQUEST),
        (f"Human: {REQUEST}\n\nAssistant: Sure, I can do that.\n\nHuman: and the menu", f"{REQUEST}\nand the menu"),
        (f"From: a@acme.org\nTo: b@acme.org\nSubject: {REQUEST}", REQUEST),
        (f"{REQUEST}\n\n--\nAnna Berg\nAcme GmbH", REQUEST),
        (f"{REQUEST}\n\nSent from my phone", REQUEST),
        (f"New task: {REQUEST}\n\nP.S. the coffee machine is broken", REQUEST),
        (f"{REQUEST}\n\nKind regards,\nTom Miller\nHead of Operations\nShop Ltd", REQUEST),
        (f"On Mon, Nov 3, 2026 at 9:12 AM Tom wrote:\n> {REQUEST}", f"> {REQUEST}"),
        (f"[Image #1] {REQUEST} [Pasted text #2 +20 lines]", REQUEST),
        (f"{REQUEST}\n\nAttachments: screenshot.png", REQUEST),
        (f"- Task: {REQUEST}\n- Owner: Tom\n- Status: in progress", REQUEST),
        (f"Objective - {REQUEST}\nDeadline - Friday", REQUEST),
        (f"Task: {REQUEST}\nLanguage: TypeScript", f"{REQUEST}\nLanguage: TypeScript"),
        (f"{REQUEST}\nPriority: low\n\nuse plain CSS", f"{REQUEST}\nuse plain CSS"),
    ],
)
def test_of_fields_only_the_request_is_searched(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text == text


@pytest.mark.parametrize(
    "prompt",
    [
        "Priority: high",
        "Context: a monorepo with pnpm",
        "translate\nfrom: English\nto: French",
        "Convert from: PDF",
        "Ratio 16: 9",
        "[Image #1]",
        "Issue - 4",
        "make a table with the columns name: and age:",
        f"{'Note: ' * 500}",
        "add a button to it\nAction: opens the invoice",
        "Implement the following.\nPlan:\n1. add a page\n2. write tests",
        "write a short essay on\nHistory: the causes of war",
        "draw a game character\nPersona: a dwarf",
        "set up my machine\nShell: zsh",
        "write the infrastructure for\nWorkspace: prod",
        "[state machine] in TypeScript",
        "members of a Cargo [workspace] file",
        "explain [session cookies] of a browser",
        "why does @media.print fail",
        "summarise the posts of @ann.lee",
    ],
)
def test_what_may_be_the_request_stays(prompt: str) -> None:
    assert read_prompt(prompt).text.split() == prompt.split()


MESSAGES = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": [{"type": "text", "text": REQUEST}]},
    {"role": "assistant", "content": "Sure, I can do that."},
]


@pytest.mark.parametrize(
    "body",
    [
        {"query": REQUEST, "limit": 5},
        {"model": "a", "input": "", "prompt": REQUEST},
        {"messages": MESSAGES},
        MESSAGES,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"query": REQUEST}}},
    ],
)
def test_of_a_json_text_the_request_is_searched(body: object) -> None:
    assert read_prompt(f" {json.dumps(body, indent=1)}\n").text == REQUEST


@pytest.mark.parametrize(
    "prompt",
    [
        '{"name": "page", "version": "1.0"}',
        '{"query": 7, "input": "page"}',
        '{"query": "page"} gives a 500',
        "{name} is not replaced in my template",
        "[draft] add a dark mode to the page",
        '{"query": "add a dark mode"',
        "[" * 5000 + "]" * 5000,
    ],
)
def test_other_texts_in_brackets_stay(prompt: str) -> None:
    assert read_prompt(prompt).text == prompt


def test_names_and_rare_words_of_the_background_are_read() -> None:
    read = read_prompt(f"Task: {REQUEST}\nNotes: use the page-tools skill with turborepo")
    assert "page-tools" in read.written
    assert "turborepo" in read.identifiers
    assert read.left_out
