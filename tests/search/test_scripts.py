"""Keyword search in scripts other than Latin: words are found however a text is encoded, and in any mixture."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from search.engine import Engine
from search.requests import SearchRequest
from search.scripts import divided, divided_document
from support.catalogs import SkillCatalog

SKILLS = [
    ("chinese", "检查合同条款并提出修改意见"),
    ("japanese", "スプレッドシートを作成して集計する"),
    ("korean", "계약서를 검토하고 위험을 찾습니다"),
    ("thai", "ค้นหาเอกสารและสรุปเนื้อหา"),
    ("lao", "ຄົ້ນຫາເອກະສານໃນໂຟນເດີ"),
    ("khmer", "ស្វែងរកឯកសារនៅក្នុងថត"),
    ("burmese", "စာရွက်စာတမ်းများကို ရှာဖွေပါ"),
    ("hindi", "हिन्दी में दस्तावेज़ खोजें और सारांश बनाएँ"),
    ("arabic", "البحث في المستندات وتلخيصها"),
    ("hebrew", "חיפוש מסמכים וסיכום שלהם"),
    ("russian", "Поиск документов и краткое изложение"),
    ("greek", "Αναζήτηση εγγράφων και περίληψη"),
    ("vietnamese", "Tìm kiếm tài liệu và tóm tắt nội dung"),
    ("french", "Résume les réunions de l’équipe"),
    ("mixed", "把 PDF 转换成 Markdown 表格"),
]

QUERIES = [
    ("合同", "chinese"),
    ("条款怎么修改", "chinese"),
    ("条", "chinese"),
    ("表計算シート", "japanese"),
    ("ｽﾌﾟﾚｯﾄﾞｼｰﾄ", "japanese"),
    ("계약서", "korean"),
    ("สรุปเอกสาร", "thai"),
    ("ຊອກເອກະສານ", "lao"),
    ("រកឯកសារ", "khmer"),
    ("စာတမ်း", "burmese"),
    ("दस्तावेज", "hindi"),  # without the dot below the last letter but one
    ("मुझे हिन्दी चाहिए", "hindi"),
    ("المُسْتَنَدات في", "arabic"),  # with vowels
    ("מִסְמָכִים", "hebrew"),
    ("документов", "russian"),
    ("ΕΓΓΡΆΦΩΝ", "greek"),
    ("tai lieu", "vietnamese"),
    ("ＲＥＵＮＩＯＮＳ", "french"),
    ("markdown 转换", "mixed"),
    ("convert 表格", "mixed"),
]
FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")


@pytest.fixture(params=["in memory", "on disk"])
def engine(request: pytest.FixtureRequest, catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    for name, text in SKILLS:
        catalog.put(name, text)
    catalog.put("Éditeur-de-Café", "A name with accents")
    engine = Engine(catalog.documents, tmp_path / "indexes", None)
    engine.start()
    if request.param == "on disk":
        engine.index_sync.lexical.flush()
    yield engine
    engine.close()


def first(engine: Engine, query: str) -> str:
    hits = engine.search.search(SearchRequest(query)).hits
    return hits[0].id if hits else ""


def test_words_find_the_skill_in_every_script(engine: Engine) -> None:
    assert {query: first(engine, query) for query, _ in QUERIES} == dict(QUERIES)


def test_every_form_of_unicode_finds_the_same(engine: Engine) -> None:
    for form in FORMS:
        assert {name: first(engine, unicodedata.normalize(form, text)) for name, text in SKILLS} == {
            name: name for name, _ in SKILLS
        }


def test_an_exact_name_is_first_in_every_form_of_unicode(engine: Engine) -> None:
    for form in FORMS:
        (hit,) = engine.search.search(SearchRequest(unicodedata.normalize(form, "éditeur de café"), limit=1)).hits
        assert (hit.id, hit.score) == ("Éditeur-de-Café", 1.0)


def test_only_runs_of_undivided_scripts_become_pairs() -> None:
    assert divided("résumé 合同条 x").split() == ["résumé", "合同", "同条", "x"]
    assert divided_document("合同条").split() == ["合", "同", "条", "合同", "同条"]
    assert divided("用docker部署").split() == ["用", "docker", "部署"]
    assert divided_document("第3章にbrowser").split() == ["第", "3", "章", "に", "章に", "browser"]
    assert divided("plain ascii") == "plain ascii"
