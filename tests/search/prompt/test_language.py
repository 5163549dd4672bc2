"""Which queries are in another language than English."""

import pytest

from search.prompt.language import is_foreign
from support.cost import passes

FOREIGN = [
    "Tests für jeden Endpunkt schreiben",
    "wie mache ich ein docker image kleiner",
    "Rechnung als PDF erstellen",
    "git commit rückgängig machen",
    "welches Skill hilft mir mit `kubectl get pods`?",
    "crea un informe pdf",
    "hacer copia de seguridad",
    "necesito traducir un documento largo",
    "comment supprimer une branche git",
    "résumer une réunion",
    "l’API ne répond pas quand j’envoie un fichier",
    "como criar um site",
    "criar apresentação powerpoint",
    "come creare un database",
    "hoe maak ik een website",
    "jak napisać testy",
    "bir web sitesi nasıl yapılır",
    "как уменьшить образ docker",
    "اكتب اختبارات للواجهة",
    "도커 이미지 크기 줄이기",
    "วิธีทำให้ docker image เล็กลง",
    "把这个Figma链接转成TypeScript加Tailwind",
    "浏览器自动化",
    "テストを書く",
    "wetter morgen",
    "Licht einschalten",
    "traduction",
    "facture pdf",
    "recetas de cocina",
    "meteo domani",
    "reise planen",
    "pogoda jutro",
]

ENGLISH = [
    "",
    "?!",
    "pdf",
    "docker",
    "merge two pdf files",
    "make my docker image smaler plese",
    "kubectl get pods -n kube-system --all-namespaces",
    "SELECT id, name FROM users WHERE age > 3",
    "for (const x of xs) { console.log(x) }",
    "translate 'guten Tag' to English",
    "what does schadenfreude mean",
    "translate 你好世界 into English",
    "weather in São Paulo and Zürich",
    "plan a trip from Los Angeles to El Paso",
    "a résumé for the café in San José",
    "deploy to de.example.com with la-la-land",
    "CI fails on main",
    "AI agents for e-commerce",
    "Vincent van Gogh and Ludwig van Beethoven",
    "hello 👋 can you help",
    "non-compete clause",
    "run a chi-square test",
    "supabase",
    "kubectl helm",
    "prisma migrate",
    "todoist",
    "pnpm turborepo monorepo",
    "obsidian vault",
    "karaoke",
    "sushi tsunami kindergarten",
]


@pytest.mark.parametrize("query", FOREIGN)
def test_a_query_in_another_language_is_foreign(query: str) -> None:
    assert is_foreign(query)


@pytest.mark.parametrize("query", ENGLISH)
def test_english_with_names_code_typos_or_a_foreign_word_is_not(query: str) -> None:
    assert not is_foreign(query)


@pytest.mark.parametrize("unit", ["a", "der ", "é", "d'", "-", "/", "`", ".", "a.", "字", "und-", "İ", "\n"])
def test_of_a_megabyte_only_the_ends_are_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert passes(is_foreign, text, rounds=1) < 1


def test_the_end_of_a_long_text_says_its_language_too() -> None:
    assert is_foreign("0x7f " * 100_000 + "wie behebe ich diesen Fehler in meinem Programm?")
