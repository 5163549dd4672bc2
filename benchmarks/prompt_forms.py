"""Forms of prompts for `prompts.py`: how people and agents name skills, join requests, are polite, and exclude."""

import html
import textwrap
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote


class Forms(NamedTuple):
    """The forms by which the rules were written, and others that were looked at afterwards only."""

    train: tuple[str, ...]
    dev: tuple[str, ...]


NAMED = Forms(
    train=(
        "use the {name} skill to {task}",
        "/{name} {task}",
        "Use {name} skill: {task}",
        "{task} with the {name} skill",
        "please use the skill {name} for this: {task}",
        "run /{name}",
        'use "{name}" for this. {task}',
        "{task} (use the {name} skill)",
        "load the {name} skill and {task}",
    ),
    dev=(
        "Using the {name} skill, {task}",
        "can you apply the {name} skill? {task}",
        "/{name}\n{task}",
        "{task}. Use the {name} skill for that.",
        "invoke skill `{name}` and then {task}",
        "I want to use the `{name}` skill to {task}",
        "@{name} {task}",
        "in my {name} skill there is a script for this: {task}",
        "open the skill called {name} and {task}",
        "follow the {name} skill: {task}",
        "what does the {name} skill do",
    ),
)

TWO = Forms(
    train=(
        "{one}. {two}.",
        "{one} and {two}",
        "{one}, then {two}",
        "{one}. Also {two}",
        "1. {one}\n2. {two}",
        "First {one}. Then {two}.",
    ),
    dev=(
        "{one}; {two}",
        "{one}. After that, {two}.",
        "- {one}\n- {two}",
        "I need two things: {one}, and {two}",
        "{one}\n\n{two}",
        "{one}, and also {two}",
        "{one}. Once that is done, {two}",
        "Could you {one}? And {two}?",
    ),
)

FRAMES = Forms(
    train=(
        "Hi! Could you please help me with this: {task} Thank you so much!",
        "Hello, I would like you to help me. {task} Thanks in advance!",
        "hey there, can you {task} please?",
        "Please {task}. Thanks!",
        "I was wondering if you could help me with the following. {task}",
        "Good morning! I hope you are doing well. {task} Many thanks, Anna",
        "{task}\n\nThank you!",
        "I need your help. {task}",
    ),
    dev=(
        "Hi Claude, quick question: {task} Cheers!",
        "Hey! Hope you're well. Would you mind helping me with something? {task} I'd really appreciate it.",
        "Dear assistant,\n\n{task}\n\nBest regards,\nTom",
        "Could you be so kind as to help me with this? {task} Thanks a lot in advance for your help.",
        "ok so {task} thx",
        "Hello! I'm looking for some help. {task} Please let me know if you have any questions.",
        "I'd be grateful for your help: {task} Thank you very much for your time!",
        "sorry to bother you, but {task} Much appreciated.",
        "Good afternoon. Can you assist me with the task below?\n\n{task}\n\nLet me know what you think. Thanks!",
    ),
)

MANNERS = Forms(
    train=(
        "{task}. Be concise.",
        "You are a helpful assistant. {task}",
        "{task}. Think step by step.",
        "Answer only with the code. {task}",
        "You are an expert software engineer. {task}. Do not make any mistakes.",
        "{task}. Keep it short and simple, no explanations please.",
        "Think hard before you answer. {task}",
        "{task}. Take your time and double-check your work.",
        "Act as a senior developer. {task}",
    ),
    dev=(
        "You are a world-class programmer with years of experience. {task}",
        "{task}. Respond with just the result, nothing else.",
        "{task} ultrathink",
        "{task}. Make sure everything is correct and don't hallucinate.",
        "Please be brief and to the point. {task}",
        "{task}\n\nDon't ask me any questions, just do it.",
        "Let's think about this carefully. {task}. Give me the final answer only.",
        "You're a professional. {task}. Be thorough and precise.",
        "{task}. No yapping.",
        "Work autonomously until it is done. {task}",
    ),
)

PROJECTS = Forms(
    train=(
        "# Task\n{task}",
        "## Context\n\n{task}",
        "src/components/Header.tsx: {task}",
        "// TODO: {task}",
        "<user_query>\n{task}\n</user_query>",
        "SHOP-42: {task}",
        "{task} (see docs/notes.md)",
        "{task} for the /search endpoint",
    ),
    dev=(
        "# Issue\n\n{task}\n\n## Status\nOpen",
        "# FIXME: {task}",
        "lib/utils/format.py — {task}",
        "[ENG-1207] {task}",
        "<task>{task}</task>",
        "In app/models/order.rb, {task}",
        "{task} #work",
        "{task}, the route is GET /status",
        "> {task}",
    ),
)

TICKETS = Forms(
    train=(
        "Title: {task}\nPriority: high\nAssignee: anna\nLabels: frontend, bug",
        "Goal: {task}\nConstraints: do not touch the database, keep the tests green",
        "Context: we have a monorepo with pnpm and turborepo. Task: {task}",
        "Human: {task}\n\nAssistant: Sure, I can do that.\n\nHuman: go ahead",
        "{task}\n\n--\nAnna Berg\nSenior Engineer, Acme GmbH",
        "{task} (see https://docs.acme.com/guides/getting-started)",
        "@claude {task}",
        "{task} [screenshot.png]",
        "## What\n{task}\n\n## Why\nIt takes us an hour every day",
    ),
    dev=(
        "Bug: {task}\nSeverity: minor\nReporter: Lee\nFix version: 2.4",
        "Problem: {task}\nBackground: the shop runs on two servers in Frankfurt and has three teams",
        "# User story\n{task}\n\n# Notes\nAsk Kim from marketing before the release",
        "Subject: {task}\nFrom: Kim Lee <kim@shop.example>\nDate: Tue, 4 Nov 2026 10:02\n\nSee above. Kim",
        "User: hello\nAI: Hi! What can I do for you today?\nUser: {task}",
        "@codex {task}\n\nThanks,\nKim\nProduct Manager",
        "[Image #1] {task} [Pasted text #2 +38 lines]",
        "{task} - details are in https://shop.example/wiki/display/TEAM/Roadmap+2026",
        "Please {task} (ref: https://jira.shop.example/browse/SHOP-4711)",
        "* Request: {task}\n* Requested by: sales\n* Deadline: end of the quarter",
        "### Task description\n{task}\n### Definition of done\nThe team lead has seen it",
        "Ticket SHOP-99 ({task}) is assigned to you.",
    ),
)

SENT = Forms(
    train=(
        "My boss told me to {task} by tomorrow morning",
        "The user wants to {task}. Which skill should I use?",
        "I need to {task} but I don't know where to start",
        "{task} (urgent!!!)",
        "{task} - make it good",
        "{task}. Return the answer as JSON.",
        "Deadline tomorrow! {task}",
        "fix(auth): {task}",
        '{{"role": "user", "content": "{task}"}}',
    ),
    dev=(
        "The client would like us to {task}",
        "Our lecturer told us to {task}",
        "Our team needs to {task} by Wednesday noon",
        "We're planning to {task}",
        "I am supposed to {task} by the end of next month",
        "My job is to {task}",
        "I am struggling to {task} and I have no idea where to begin",
        "{task}, but I can't figure out how",
        "{task} (very urgent)",
        "{task} (please!)",
        "{task} - thanks in advance",
        "{task} – make it perfect",
        "Please respond in Spanish. {task}",
        "{task}. The output should be a numbered list.",
        "{task}. Provide results in a table.",
        "{task}. Keep it brief.",
        "{task}. Can you suggest a suitable skill?",
        "{task}. Are there any skills for that?",
        "hotfix(ui): {task}",
        "chore: {task} (#88)",
        '{{"question": "{task}"}}',
        '{{"model": "gpt-4o", "messages": [{{"role": "user", "content": [{{"type": "text", "text": "{task}"}}]}}]}}',
        '{{"arguments": {{"prompt": "{task}", "top_k": 5}}}}',
        "My question: {task}",
        "The task is to {task}",
        "Urgent request: {task}",
    ),
)

PROGRAMS = Forms(
    train=(
        "<task>\n{task}\n</task>\n\n<environment_details>\n# VSCode Visible Files\nsrc/app.ts\n\n# Current Mode\n"
        "ACT MODE\n</environment_details>",
        "<system-reminder>\nUse pnpm, not npm. Write tests with vitest. Deploy with fly.\n</system-reminder>\n{task}",
        "<ide_opened_file>The user opened the file /srv/shop/src/cart.ts in the IDE.</ide_opened_file>\n{task}",
        "<command-message>find is running</command-message>\n<command-name>/find</command-name>\n"
        "<command-args>{task}</command-args>",
        "<environment_context>\n  <cwd>/srv/shop</cwd>\n  <sandbox_mode>workspace-write</sandbox_mode>\n"
        "  <shell>bash</shell>\n</environment_context>\n\n{task}",
        "# AGENTS.md instructions for /srv/shop\n\n<INSTRUCTIONS>\nUse pnpm. Run the linter.\n</INSTRUCTIONS>\n\n"
        "{task}",
        "# Context from my IDE setup:\n\n## Open tabs:\n- cart.ts: src/cart.ts\n\n## My request for Codex:\n{task}",
        "<|im_start|>user\n{task}<|im_end|>\n<|im_start|>assistant",
        "Thought: I should look for a skill.\nAction: search_skills\nAction Input: {task}",
        'search_skills({{"query": "{task}", "limit": 5}})',
        "cwd: /srv/shop\n{task}",
        "[context: repo=acme/shop, branch=main] {task}",
        "Today is 2026-11-29. {task}",
        "You have access to the following tools: bash, edit, read. {task}",
        "I am an autonomous coding agent. My current task: {task}",
        "Subtask: {task}\nParent task: Release version 2.3 of the shop",
        "@src/cart.ts @src/index.ts {task}",
        "No wait, actually: {task}",
        "openclaw skill for {task}",
    ),
    dev=(
        "<environment_context>\n<current_date>2026-11-29</current_date>\n<timezone>Europe/Berlin</timezone>\n"
        "</environment_context>\n{task}",
        '<attached_files>\n<code_selection path="src/a.ts" lines="1-9">\nconst a = 1;\n</code_selection>\n'
        "</attached_files>\n<user_query>{task}</user_query>",
        "<reminderInstructions>\nWhen using the edit tool, avoid repeating existing code.\n</reminderInstructions>\n"
        "<userRequest>\n{task}\n</userRequest>",
        "<user_info>\nThe user's OS version is linux 6.8. The user's shell is /bin/zsh.\n</user_info>\n{task}",
        "<git_status>\nThis is the git status at the start.\n## main...origin/main\n M src/cart.ts\n</git_status>\n"
        "{task}",
        "{task}\n<system-reminder>\nThe TodoWrite tool hasn't been used recently. Consider using it.\n"
        "</system-reminder>",
        "<local-command-stdout>Set model to opus</local-command-stdout>\n{task}",
        "<project_layout>\nshop/\n  - src/\n    - cart.ts\n</project_layout>\n\n<user_query>\n{task}\n</user_query>",
        "# CLAUDE.md instructions for /srv/app\n\nUse tabs.\n\n## My request:\n{task}",
        "<|user|>\n{task}\n<|assistant|>",
        "<|start_header_id|>user<|end_header_id|>\n\n{task}<|eot_id|>",
        "Working directory: /srv/app\nGit branch: main\n\n{task}",
        "Current time: 2026-11-29T10:00:00Z\n{task}",
        "The current date is November 29, 2026. {task}",
        "You can use these tools: grep, read_file and web_search.\n{task}",
        "I'm an AI agent. Current step: {task}",
        "Overall goal: launch the shop in May.\nCurrent task: {task}",
        "@docs/plan.md {task}",
        "{task} @README.md",
        "Ok, now: {task}",
        "Great. Next, {task}",
        "Proceed. {task}",
        "[session: id=42, user=ann] {task}",
        "Observation: no skill is loaded.\nThought: search for one.\nAction Input: {task}",
        'find_skill({{"task": "{task}"}})',
        "codex skill for {task}",
        "any openclaw skills that can {task}?",
        "Respond with valid JSON only. {task}",
    ),
)

SEEKING = Forms(
    train=(
        "is there a skill to {task}?",
        "find me a skill for this: {task}",
        "what skills do you have for {task}",
        "I need a skill that can {task}",
        "which skill should I use to {task}?",
        "search the registry for a skill to {task}",
        "do you have any skills that help me {task}",
        "recommend a good skill to {task}",
    ),
    dev=(
        "Are there any skills which would {task}?",
        "I'm looking for a skill to {task}",
        "Can you find a skill for me that will {task}?",
        "list all available skills that {task}",
        "What is the best skill to {task}",
        "is there an agent skill out there that lets me {task}?",
        "I want a skill so I can {task}",
        "find and install a skill to {task}",
        "Please suggest skills for the following task: {task}",
    ),
)

EXCLUDED = Forms(
    train=("{task}, not {name}", "{task} without {name}", "{task} but not with {name}", "{task}, except {name}"),
    dev=(
        "{task} instead of {name}",
        "{task}, but no {name} please",
        "{task}. Don't use {name}.",
        "{task}, anything but {name}",
        "{task} (not {name})",
        "{task} without using {name}",
        "{task} rather than {name}",
        "I do not want {name}. {task}",
        "{task}, other than {name}",
    ),
)

MISREAD = Forms(
    train=(
        "{name} is not working: {task}",
        "why does {name} not work? {task}",
        "not only {name}: {task}",
        "I cannot get {name} to run. {task}",
    ),
    dev=(
        "{name} doesn't start any more, {task}",
        "{task}. {name} won't do it without an error",
        "no idea why {name} fails. {task}",
        "not sure how {name} works, {task}",
        "{task}, {name} is not yet set up",
    ),
)


def _lines(text: str, width: int, mark: str = "") -> str:
    return "\n".join(f"{mark}{line}" for line in textwrap.wrap(text, width))


def _shifted(text: str, upper: int, lower: int) -> str:
    """Return a text with the letters of another alphabet of Unicode, which begin at these codes."""
    return "".join(
        chr(ord(letter) - ord("A") + upper)
        if "A" <= letter <= "Z"
        else chr(ord(letter) - ord("a") + lower)
        if "a" <= letter <= "z"
        else letter
        for letter in text
    )


COPIES: Mapping[str, Mapping[str, Callable[[str], str]]] = {
    "train": {
        "zero-width spaces": lambda text: "\u200b".join(text[at : at + 3] for at in range(0, len(text), 3)),
        "soft hyphens": lambda text: " ".join(f"{word[:4]}\u00ad{word[4:]}" for word in text.split()),
        "full-width letters": lambda text: _shifted(text, 0xFF21, 0xFF41),
        "an address": quote,
        "HTML": lambda text: html.escape(text).replace(" ", "&nbsp;"),
        "lines of 72 characters": lambda text: _lines(text, 72),
        "a comment": lambda text: _lines(text, 60, "# "),
        "a chat": lambda text: f"[29/11/2026, 10:02:11] Ann: {text}",
    },
    "dev": {
        "marks of direction": lambda text: f"\ufeff\u2066{text.replace(' ', ' ' + chr(0x2060))}\u2069",
        "bold letters": lambda text: _shifted(text, 0x1D400, 0x1D41A),
        "sans-serif letters": lambda text: _shifted(text, 0x1D5A0, 0x1D5BA),
        "an address with commas": lambda text: quote(text, safe=",:'"),
        "HTML with quotes": lambda text: f"&quot;{text.replace(chr(39), '&#39;')}&quot; &amp; more",
        "lines of 50 characters": lambda text: _lines(text, 50),
        "lines of 80 characters, CRLF": lambda text: _lines(text, 80).replace("\n", "\r\n"),
        "a comment with slashes": lambda text: _lines(text, 66, "// "),
        "a quotation": lambda text: _lines(text, 56, "> "),
        "a transcript": lambda text: f"Kim Lee (00:12:40): {text}",
        "a chat with dashes": lambda text: f"kim - Yesterday at 9:15 PM\n{text}",
        "subtitles": lambda text: f"12\n00:01:07,120 --> 00:01:11,480\n{text}",
    },
}
"""How a request looks that was copied from elsewhere, by the part of the measurement."""
