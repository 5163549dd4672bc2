"""Whether a query is in another language than English: by its script, or by words and letters of Latin scripts."""

import re
from collections.abc import Sequence
from functools import lru_cache

from embeddings.languages.words import frequent_words

READ = 2_000
"""The most characters that are read: half of them at the beginning of a longer query, half at its end."""

# Cyrillic, Arabic, Thai, Chinese, Japanese and Korean: the scripts, other than Latin, that the encoder reads.
_SPACED_SCRIPT = re.compile(r"[\u0400-\u052f\u0600-\u06ff\u0750-\u077f]+")
_UNDIVIDED_SCRIPT = re.compile(
    r"[\u0e01-\u0e5b\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff66-\uff9d]"
)
_CHARACTERS_A_WORD = 2

_ACCENT = re.compile(r"[^\W\d_a-z]")
_ENDINGS = (
    "ungen",
    "ung",
    "keit",
    "heit",
    "schaft",
    "lich",
    "ichten",
    "ieren",
    "zione",
    "zioni",
    "mente",
    "idad",
    "ować",
)
_ENDING_LENGTH = 9
_PARTS = re.compile(r"[-'’]+")
_LAST_LATIN = "\u0250"
_AROUND = ".,;:!?¿¡\"“”„«»‘’'()[]…-–—"

_ACCENTED_NAME, _PARTLY = 0.25, 0.5
_ENOUGH, _ENOUGH_OF_FEW, _FEW = 1.5, 1.0, 10
"""The foreign words that make a query foreign; fewer do in a query of few words, none of them English."""

STOP_WORDS_ELSEWHERE = frozenset(
    """
    aber alle das der die allen alles als auch auf aus beim bitte dass dem den denn deren dies diese diesem diesen
    dieser dieses doch durch eine einem einen einer eines einfach etwas für gegen gerade geht gib habe haben hat
    hilf ich ihr ihre immer ins ist jede jedem jeden jeder jedes kann keine keinen können lassen lege macht mache
    machen man mein meine meinem meinen meiner mich mir mit möchte muss nach neue neuen neuer neues nicht noch nur
    oder ohne prüfe sehr sein seine sich sie sind soll sollen suche über um und uns unser unsere unserem unseren
    unserer unter vom von vor wandle wann warum wenn werden wie wieder wir wird wo wurde zeig zeige zu zum zur zwei
    zwischen

    ahora al algo algún ayúdame cada cómo como con cuando cuál cuáles del desde donde dónde ella ellos entre esa ese
    eso esta está este esto estoy están haz hacer hacia hasta hay la las le les línea lo los mejor mi mis muy más
    mío necesito necesitamos ningún nos nuestra nuestro nueva nuevo nuestras nuestros otra otro para pero por porque
    puede puedo que quiero queremos qué según ser si sí sin sobre son su sus también tengo tiene todas todo todos tu
    una uno unos ver y ya

    au aux avec avez avoir car ce ces cet cette chaque chez comment dans depuis des donne donner dont du elle elles
    est et être fais faire faut ici il ils je jusqu leur leurs lorsque ma mais mes moi mon même ne notre nos nous
    ont ou où par partir pas peut peux plus pour pourquoi quand que quel quelle quels qui quoi sa sans ses son sont
    sous sur ta tes toi ton tous tout toute toutes très tu un une vers veux voir vos votre vous

    ao aos às até com como da das de depois dessa desse deste dos ele ela em entre essa esse esta estou eu fazer foi
    isso isto já mais mas me meu meus minha minhas muito na nas não nem no nos nós nossa nosso num numa o os ou para
    pela pelo pelos por porque posso preciso qual quando quero se sem ser seu seus sua suas só também tem têm tenho
    um uma você

    agli ai alla alle anche che chi ci come con cosa dal dalla degli dei del della delle deve di dove e è ed era
    essere fa fare gli ha hanno ho il in io la le lo loro ma mi mia miei mie mio modo nei nel nella non nostra
    nostro nuovo ogni per perché però più posso può qual quale quando quello questa questi questo se sei senza si
    sono sua sue sul sulla suo tra tutti tutto un una uno voglio vorrei

    aan alle als bij daar dat de deze die dit door een en er geen haal heb hebben heeft het hij hoe ik iets in is je
    kan kun kunnen maak maar maken meer met mij mijn moet naar niet nieuwe nog of om onder ons onze ook op over te
    tot uit uw van vanaf veel voor waar waarom wat we weer welke werkt wij wil wilt worden wordt zijn zonder

    aby ale albo bez być chcę czy dla do gdy gdzie go i ich ile jak jaka jaki jakie jako jego jej jest jestem już
    każdy kiedy która które który lub ma mam mi mnie mogę może mój moja moje moich na nad nasz nie niż nowy o od
    oraz po pod pomocą ponieważ potrzebuję proszę przed przez przy się są swój ta tak tam te tego tej ten to tu
    tylko tym w we więc wszystkie z za ze zrób że żeby

    ama bana bazı beni benim bir biri birlikte bu bunu çok da daha de değil diye en gibi göre ve veya her hangi için
    ile ilgili istiyorum kadar ki kullanarak mı mi mu mü nasıl ne neden nerede olan olarak oluştur onu sonra şu tüm
    var yaz yok yap yapmak yapan ya yeni
    """.split()  # noqa: SIM905 - one word per line would take pages
)
"""Stop words of German, Spanish, French, Portuguese, Italian, Dutch, Polish and Turkish."""

_TASK_WORDS = frozenset(
    """
    ajoute ajouter analizar analizzare anlegen aplicación archivo archivos arquivo añade bestand busca buscar
    cercare chercher configurar convertir convertire copia corregir corriger crea crear creare criar crée créer
    dados dati datos denen desplegar documento einrichten eliminar enviar envoyer erstelle erstellen erstellt
    escrever escribir extraer fichier fichiers finde finden fotos generar generare gerar hinzufügen instalar inviare
    lire löschen mejorar melhorar mettre migliorare optimiser optimizar plik plików pruebas resumir revisa revisar
    riassumere récupérer rédiger schreib schreibe schreiben schrijf schrijven scrivere stwórz suchen supprimer
    traducir traduire tradurre traduzir trouver trovare umwandeln usar utiliser utwórz verlangt vertalen verwijderen
    znajdź zoek zoeken zusammenfassen
    """.split()  # noqa: SIM905 - as above
)
"""Words of these languages that many requests have."""

_WORDS = STOP_WORDS_ELSEWHERE | _TASK_WORDS

_ENGLISH = frozenset(
    """
    about after and any are because been before being both but by can could did does each every few for from had has
    have he his how if into is it its just like make might more my need not now off once only out own please same she
    should some such than that the their them then there these they this those through too until up us use using what
    when where which while who why with without would write you your add check create find fix get give help new set
    show tell i'm it's don't can't
    """.split()  # noqa: SIM905 - as above
)
"""Frequent English words that are no words of those languages."""

_IN_NAMES = frozenset(
    """
    al als ama au aux chaque chi comment con copia crear da dal das de dei del den der des di do dos du e ed el em
    en era est et eu fa fare fotos go ha hat hay het ich ihr il ils io ist ja kan kit la las le les lo los ma maar
    man me meer men met mi mir mis na nad ne nei no nos o od oder om on ont op ou par pas per pod por pro que sa san
    se sei ser si sie sin sind sol son su sub sul sur ta te ten ton tot tu uit um un una une uno van var ver vers
    via von voor w y ya yaz yes z za ze
    """.split()  # noqa: SIM905 - as above
)
"""Words that are in names, commands and formats too: `los angeles`, `van gogh`, `de`, `son`. They count half."""

_BOTH = frozenset(
    """
    a ai alle also am an as at bin bot car chat ci com come corner der die do door fit gut her here hier i ici iets
    in is it jest joan mais man me mine most nas no non of on once or over plan plus sam so som son sta sub tam te
    ten test to todo under very war was we wet will word
    """.split()  # noqa: SIM905 - as above
)
"""Words of several languages, English among them. They say nothing."""

_BORROWED = frozenset(
    """
    café cafés cliché déjà façade fahrenheit fiancé fiancée jalapeño naïve pokémon résumé résumés samsung über
    """.split()  # noqa: SIM905 - as above
)


def is_foreign(text: str) -> bool:
    """Return whether a query is in a language other than English that the encoder reads, or mostly so.

    English with names, code, typos or a foreign word is not. The time is bounded: of long texts, the ends are read.
    """
    return _is_foreign(text if len(text) <= READ else f"{text[: READ // 2]} {text[-READ // 2 :]}")


@lru_cache(maxsize=256)
def _is_foreign(text: str) -> bool:
    words = _words(text)
    english = sum(word.lower() in _ENGLISH for word in words)
    if not text.isascii():
        foreign_words = len(_SPACED_SCRIPT.findall(text)) + len(_UNDIVIDED_SCRIPT.findall(text)) / _CHARACTERS_A_WORD
        if foreign_words > (len(words) if english else _PARTLY * len(words)):
            return True
    foreign = sum(map(_weight, words))
    if english:
        return foreign > english and foreign >= _ENOUGH
    return foreign >= (_ENOUGH_OF_FEW if len(words) <= _FEW else _ENOUGH) or _are_keywords(words)


def _are_keywords(words: Sequence[str]) -> bool:
    """Return whether at least half of a few words are foreign, of which none says so itself: `wetter morgen`."""
    if not 0 < len(words) <= _FEW:
        return False
    frequent = frequent_words()
    foreign = sum(1.0 if word.lower() in frequent else _weight(word) for word in words)
    return foreign >= max(1, len(words) / 2)


def _words(text: str) -> list[str]:
    """Return the words of a text in Latin letters, without code, addresses, options, paths and names of files."""
    words = []
    for token in text.split():
        bare = token.strip(_AROUND)
        if token[0] != "-" and bare.replace("-", "").replace("'", "").replace("’", "").isalpha():
            words += [word for word in _PARTS.split(bare) if word < _LAST_LATIN]
    return words


def _weight(word: str) -> float:
    """Return how much a word says that a query is foreign: at most 1."""
    lower = word.lower()
    if lower in _BOTH or lower in _BORROWED:
        return 0.0
    if lower in _IN_NAMES:
        return _PARTLY
    if lower in _WORDS or (len(lower) >= _ENDING_LENGTH and lower.endswith(_ENDINGS)):
        return 1.0
    if lower.isascii() or not _ACCENT.search(lower):
        return 0.0
    return _ACCENTED_NAME if word[0].isupper() else 1.0
