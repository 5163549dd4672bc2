"""The request is found in a prompt, whatever a machine wrote beside it, and costs no more than a look at each line."""

import textwrap

import pytest

from search.prompt.pastes import READ_WHOLE, without_paste
from search.prompt.reading import SEARCHED, left_out_notes, read_prompt

REQUEST = "Three agents work on one repo; each should get its own folder, ports and env files."

PASTES = {
    "python": """
        Traceback (most recent call last):
          File "/srv/app/jobs/runner.py", line 88, in run
            result = self.queue.fetch(job_id, timeout=30)
          File "/srv/app/jobs/queue.py", line 14, in fetch
            return self._rows[job_id]["payload"]
        KeyError: 'payload'
    """,
    "java": """
        Exception in thread "main" java.lang.IllegalStateException: pool is closed
        \tat com.acme.pool.ConnectionPool.borrow(ConnectionPool.java:71)
        \tat com.acme.orders.OrderService.load(OrderService.java:143)
        \tat com.acme.orders.OrderController.show(OrderController.java:52)
        Caused by: java.sql.SQLException: connection reset by peer
        \t... 23 more
    """,
    "log": """
        2026-11-12 10:12:33,120 INFO  [main] o.a.k.Consumer - resetting generation due to rebalance
        2026-11-12 10:12:33,480 WARN  [main] o.a.k.Consumer - the coordinator is not available
        2026-11-12 10:12:34,020 ERROR [main] o.a.k.Consumer - giving up after five attempts
    """,
    "json": """
        {
          "name": "orders",
          "replicas": 3,
          "image": "registry.local/orders:1.4.2",
          "env": [{"name": "LOG_LEVEL", "value": "debug"}, {"name": "REGION", "value": "eu-west-1"}],
          "ports": [{"containerPort": 8080, "protocol": "TCP"}],
          "probe": {"path": "/healthz", "period": 10, "threshold": 3}
        }
    """,
    "diff": """
        diff --git a/src/app.ts b/src/app.ts
        index 3f1c2aa..9be11d0 100644
        --- a/src/app.ts
        +++ b/src/app.ts
        @@ -1,5 +1,6 @@
         import express from "express";
        -const port = 3000;
        +const port = Number(process.env.PORT ?? 3000);
         const app = express();
    """,
    "table": """
        | region | orders | refunds | note |
        |---|---|---|---|
        | north | 120 | 3 | late trucks |
        | south | 98 | 11 | a new carrier since March |
        | west | 143 | 2 | nothing to report |
        | east | 87 | 5 | two trucks broke down |
    """,
    "fence": """
        ```python
        def total(rows):
            # Sum the amounts of the rows that nobody has cancelled so far.
            kept = [row for row in rows if not row.cancelled]
            return sum(row.amount for row in kept)
        ```
    """,
    "kubectl": """
        NAME                        READY   STATUS             RESTARTS   AGE
        orders-7d4b9c6f5d-x2x9p     0/1     CrashLoopBackOff   17         64m
        payments-5c8f6d7b9-k4m2q    1/1     Running            0          3d
        search-64d8b5c7f-2hj8s      0/1     ImagePullBackOff   0          12m
        mailer-58c9d7f6b4-zzk3l     1/1     Running            2          9d
    """,
    "yaml": """
        services:
          web:
            image: nginx:1.27
            ports:
              - "8080:80"
            environment:
              - LOG_LEVEL=debug
              - REGION=eu-west-1
          database:
            image: postgres:17
            volumes:
              - data:/var/lib/postgresql
            restart: always
    """,
    "html": """
        <ul class="menu">
          <li><a href="/orders">Orders of today</a></li>
          <li><a href="/refunds">Refunds and returns</a></li>
          <li><a href="/carriers">Carriers and their prices</a></li>
        </ul>
    """,
    "one line": '{"rows": [' + ", ".join(f'{{"id": {n}, "city": "Town {n}", "ok": true}}' for n in range(20)) + "]}",
    "base64": "\n".join("U2tpbGxzIGFyZSBmb2xkZXJzIHdpdGggYSBmaWxlIGluIHRoZW0sIGFuZCBtb3Jl" for _ in range(26)),
}  # fmt: skip


@pytest.mark.parametrize("name", PASTES)
def test_the_request_is_what_remains(name: str) -> None:
    paste = textwrap.dedent(PASTES[name]).strip("\n")
    lines = paste.split("\n")
    half = len(lines) // 2
    prompts = [f"{REQUEST}\n{paste}", f"{paste}\n\n{REQUEST}", f"{REQUEST}\n\n{paste}\n"]
    if len(lines) > 1 and name not in ("fence", "kubectl"):
        prompts.append("\n\n".join(("\n".join(lines[:half]), REQUEST, "\n".join(lines[half:]), paste)))
    for prompt in prompts:
        assert read_prompt(prompt).text == REQUEST
        assert read_prompt(prompt).left_out > 100


def test_a_paste_on_the_line_of_the_request_is_left_out() -> None:
    found = without_paste(f"{REQUEST} {PASTES['one line']}")
    assert found is not None
    assert found.request.startswith(REQUEST)
    assert len(found.request) < len(REQUEST) + 130


@pytest.mark.parametrize(
    "prompt",
    [
        "fix TypeError: Cannot read properties of undefined (reading 'map')",
        "kubectl get pods -n prod shows CrashLoopBackOff\nwhat now?",
        "Deploy the app:\n- build the image\n- push it to ghcr.io/acme/app:1.2\n- roll out with helm upgrade\n",
        "Write a changelog.\n\nKeep it short.\nMention the new flags --json and --quiet.\n",
        "Explain `git rebase --onto main topic~3 topic` to me",
        "写一个测试。\n请用 pytest,并且覆盖所有边界情况。",
        "1. Read data/orders.csv\n2. Group by customer_id\n3. Plot revenue per month as bars\n4. Save plots/out.png",
    ],
)
def test_a_request_of_ordinary_lines_is_whole(prompt: str) -> None:
    assert without_paste(prompt) is None


def test_text_of_a_machine_alone_is_searched() -> None:
    paste = textwrap.dedent(PASTES["java"]).strip()
    assert "ConnectionPool" in read_prompt(paste).text
    assert read_prompt(paste).left_out == 0


def test_a_request_that_says_nothing_is_told_by_the_ends_of_its_paste() -> None:
    paste = textwrap.dedent(PASTES["java"]).strip()
    text = read_prompt(f"Why does this fail?\n\n{paste}").text
    assert text.startswith("Why does this fail?")
    assert "SQLException" in text


def test_identifiers_of_a_paste_are_kept_apart() -> None:
    prompt = read_prompt(f"{REQUEST}\n{textwrap.dedent(PASTES['kubectl'])}")
    assert "CrashLoopBackOff" in prompt.identifiers.split()
    assert "CrashLoopBackOff" not in prompt.text


def test_a_fence_that_nobody_closes_does_not_hide_the_request() -> None:
    code = textwrap.dedent(PASTES["fence"]).strip().removesuffix("```")
    assert read_prompt(f"{code}{code}\n\n{REQUEST}").text.endswith(REQUEST)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_request_is_found_in_a_megabyte(place: str) -> None:
    line = "2026-11-12T10:12:33Z INFO order 4711 was shipped with carrier 12\n"
    half = line * (1_000_000 // len(line) // 2)
    parts = {"first": (REQUEST, half, half), "middle": (half, REQUEST, half), "last": (half, half, REQUEST)}
    assert read_prompt("\n".join(parts[place])).text == REQUEST


@pytest.mark.parametrize(
    "unit", ["a", "word ", "word\n", "{\n", "a, b; ", "```\n", "- x: y\n", "| a |\n", "字", " ", "\t\n"]
)
def test_no_prompt_is_searched_at_length(unit: str) -> None:
    prompt = read_prompt(unit * (1_000_000 // len(unit)))
    assert len(prompt.text) <= SEARCHED + 1


def test_the_notes_say_what_was_left_out() -> None:
    assert left_out_notes(read_prompt(REQUEST)) == []
    (note,) = left_out_notes(read_prompt(f"{REQUEST}\n{textwrap.dedent(PASTES['log'])}"))
    assert note.startswith("left out of the search: ")
    (note,) = left_out_notes(read_prompt("A sentence of an essay. " * READ_WHOLE))
    assert "in the middle" in note
