"""Greetings, thanks, courtesy and instructions about manner around a request are no part of what is searched."""

import pytest

from search.prompt.frames import without_frame
from search.prompt.reading import SEARCHED, read_prompt
from support.cost import passes

_MOST_PASSES = 60

TASK = "merge these two PDF files, keep the bookmarks"
FRAMES = [
    "Hi! Could you please help me with this: {} Thank you so much!",
    "Hello there,\n\n{}\n\nBest regards,\nAnna Berg",
    "Good morning! I hope you are doing well. {}. Many thanks in advance!",
    "Hey Claude, quick question: {} thx",
    "I was wondering if you could help me with the following. {}",
    "ok so {} please",
    "wait, {}",
    "Dear assistant, I need your help. {}. I'd really appreciate it. Cheers, Tom",
    "{}\n\nLet me know if you have any questions.",
    "Hi,\n{}\nThanks",
    "{}. Be concise.",
    "You are a helpful assistant. {}",
    "You are an expert software engineer with years of experience. {}. Do not make any mistakes.",
    "Act as a senior developer. {}",
    "Think step by step. {}",
    "Answer only with the code. {}",
    "{}. Keep it short and simple, no explanations please.",
    "{} ultrathink",
    "{}\n\nDon't ask me any questions, just do it.",
    "Slack message from Tom Miller: {}",
    'I got the following request from a customer: "{}"',
    "My boss asked me: {}",
    "is there a skill to {}?",
    "Find me a skill for this: {}",
    "what skills do you have that help me {}",
    "Hi! Can you please recommend a good skill so I can {}? Thanks!",
    "search the registry for a skill which will {}",
    "skill to {}",
    "My boss told me to {} by tomorrow morning",
    "The customer wants us to {} before the end of next week!",
    "I've been asked to {}, and I don't know where to start",
    "I am struggling to {} but nothing works",
    "The goal is to {}",
    "{} (urgent!!!)",
    "{} - make it nice",
    "URGENT: {}. Deadline tomorrow!",
    "{}. Return the answer as JSON.",
    "Reply in French. {}",
    "{}. Which skill should I use?",
    "fix: {} (#4711)",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_only_the_request_remains(frame: str) -> None:
    assert without_frame(frame.format(TASK)).strip('.?"') == TASK


@pytest.mark.parametrize(
    "request_",
    [
        TASK,
        "write a thank you letter to my teacher",
        "help desk software",
        "hello world in Rust",
        "Draft a polite reply: thanks for the offer, we decline",
        "sort my photos by day",
        "kind regards signature for mails",
        "hi",
        "Thank you!",
        "You are a senior React developer. Add a menu",
        "Act as a travel agent. Plan a week in Rome",
        "Here is my code. Explain the code",
        "Here is my letter. Make it short",
        "Read this paper, short summary",
        "s3: copy a bucket",
        "write a careful code review",
        "step by step guide for Kubernetes",
        "Be concise.",
        "just do it",
        "find skills",
        "send a message to the customer: we are late",
        "Translate this mail: we are late",
        "search for skills to install",
        "the user is looking for functionality that might exist as an installable skill",
        "create a skill tree for a game",
        "write the skills section of my CV",
        "skill creator",
        "list installed skills",
        "soft skills training",
        "use the invoices skill to send a mail",
        "the app wants to send mails",
        "what is due before the release",
        "what should I do by tomorrow",
        "write the report in French",
        "Read the log. Write a table in markdown",
        "convert the output to JSON",
        "find the largest ticket (a train ticket)",
        "rename #fff to white",
        "docs: the install page",
    ],
)
def test_what_may_be_the_task_stays(request_: str) -> None:
    assert without_frame(request_) == request_


def test_what_was_sent_is_kept_for_names() -> None:
    prompt = read_prompt("Hello! Use the pdf skill. Thanks!")
    assert prompt.written == "Hello! Use the pdf skill. Thanks!"
    assert prompt.text == "Use the pdf skill."


@pytest.mark.parametrize("request_", ["show me {} skills", "is there an {} skill?", "what skills are there for {}"])
def test_a_subject_remains_of_what_asks_for_a_skill(request_: str) -> None:
    assert without_frame(request_.format("invoice")).rstrip("?") == "invoice"


@pytest.mark.parametrize(
    "request_",
    ["create a new skill for invoices", "how do I write a skill?", "Can you build me an agent skill that checks links"],
)
def test_a_skill_that_is_to_be_made_is_the_task(request_: str) -> None:
    assert without_frame(request_) == "create a skill"


@pytest.mark.parametrize(
    ("frame", "task"),
    [
        ("Hallo, könntest du mir bitte helfen? {} Vielen Dank im Voraus!", "PDF Dateien zusammenführen"),
        ("Guten Tag,\n\n{}\n\nMit freundlichen Grüßen\nAnna Berg", "PDF Dateien zusammenführen"),
        ("gibt es einen Skill um {}?", "PDF Dateien zusammenzuführen"),
        ("Hola, ¿podrías ayudarme con esto? {} ¡Muchas gracias!", "unir archivos PDF"),
        ("¿hay alguna skill para {}?", "unir archivos PDF"),
        ("Bonjour, j'ai besoin d'aide. {} Merci d'avance !", "fusionner des fichiers PDF"),
        ("Привет! Помогите, пожалуйста. {} Спасибо заранее!", "объединить файлы PDF"),
        ("你好，请帮我{}，谢谢！", "合并PDF文件"),
        ("请问有没有可以{}的技能？", "合并PDF文件"),
        ("推荐一个{}的skill", "合并PDF文件"),
        ("こんにちは。{}。よろしくお願いします。", "PDFを結合して"),
        ("{}スキルはありますか", "PDFを結合する"),
        ("안녕하세요, {} 감사합니다!", "PDF 파일 합쳐줘"),
        ("Antworte bitte immer auf Deutsch. {} (dringend)", "PDF Dateien zusammenführen"),
        ("{}. Responde en español.", "unir archivos PDF"),
        ("Réponds en français. {}", "fusionner des fichiers PDF"),
        ("我老板让我{}（急）", "合并PDF文件"),
        ("{}，请用中文回答。", "合并PDF文件"),
        ("日本語で回答してください。{}", "PDFを結合して"),
        ("{}方法を教えてください", "PDFを結合する"),
    ],
)
def test_only_the_request_remains_in_other_languages(frame: str, task: str) -> None:
    assert without_frame(frame.format(task)).strip("?。.,¿ ") == task


@pytest.mark.parametrize(
    "request_",
    ["你好", "谢谢", "技能", "Hallo", "感谢信模板", "有道词典", "スキル管理", "用中文回答", "correos en español"],
)
def test_words_alone_stay_in_other_languages(request_: str) -> None:
    assert without_frame(request_) == request_


@pytest.mark.parametrize(
    "unit", ["I ", "please ", "I'm ", "thanks ", "I need to ", "by ", "wait ", " - ", "(a) ", "bitte "]
)
def test_the_time_is_linear_in_the_text(unit: str) -> None:
    def read(text: str) -> object:
        return read_prompt(text[:SEARCHED])

    assert passes(read, unit * (SEARCHED // len(unit)), rounds=1) < _MOST_PASSES
