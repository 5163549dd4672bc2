"""Instructions about manner: how an answer is to be, and what the assistant is. They say nothing about the task."""

from collections.abc import Sequence

from search.stop_words import STOP_WORDS

_SIGNS = frozenset(
    """
    accurate autonomously brief briefly careful carefully chatter concise concisely confirmation filler fluff
    hallucinate hallucinating hallucinations independently megathink mistake mistakes permission preamble precise
    precisely reason reasoning rigorous short shortly step succinct succinctly terse thinking thorough thoroughly
    ultrathink verbose verbosity yap yapping
    """.split()  # noqa: SIM905 - one word per line would take two pages
)
"""Words of which such an instruction has one, or a word of `_ANSWERS` beside one of `_LIMITS`."""

_ANSWERS = frozenset(
    "answer answers ask explanation explanations output reply respond response return think write".split()  # noqa: SIM905
)
_LIMITS = frozenset(
    """
    anything before deep deeply directly don else final hard harder just never no not nothing only solely straight
    without
    """.split()  # noqa: SIM905 - as above
)

WORDS = (
    STOP_WORDS
    | _SIGNS
    | _ANSWERS
    | _LIMITS
    | frozenset(
        """
        act approach assume attention avoid best breath check clarification clear code comment comments complete
        completely correct correctly depth detail detailed details done double easy effort end error errors everything
        exact exactly extra finish finished full go hand high intermediate introduction keep lengthy line long make
        making paragraph pay point possible problem proceed process quality question questions result results right
        sentence sentences simple single solution solve start stay stop straightforward sure take task text thought
        thoughts through time unnecessary verify wait way word words work
        """.split()  # noqa: SIM905 - as above
    )
)
"""Words of which such an instruction consists, besides those of courtesy."""

_MADE = frozenset({"sure", "mistake", "mistakes"})
"""What an instruction about manner makes. `make it short` may be the task."""

_ROLES = (("you", "are"), ("you", "re"), ("act", "as"), ("imagine", "you"), ("pretend", "you"), ("assume", "you"))

_ROLE_WORDS = STOP_WORDS | frozenset(
    """
    10x act advanced agent ai amazing assistant assume best brilliant capable chatbot class claude coder coding
    coworker decades developer elite engineer engineering excellent experience experienced expert extremely genius
    good great greatest grade helper helpful highly imagine intelligent knowledgeable lead leading level master
    meticulous model pair partner powerful pretend principal professional programmer programming role rockstar senior
    seasoned skilled smart software staff talented top useful veteran wise world year years
    """.split()  # noqa: SIM905 - as above
)
"""Words of roles that say nothing about the task: `a senior React developer` says something."""

_MOST_STOP_WORDS = 6


def is_role(words: Sequence[str]) -> bool:
    """Return whether the words of a clause, in small letters, say what the assistant is, and nothing about the task."""
    return tuple(words[:2]) in _ROLES and _ROLE_WORDS.issuperset(words)


def tells_manner(words: Sequence[str]) -> bool:
    """Return whether one of the words of a clause, in small letters, makes it an instruction about manner.

    It is one if all its words are among `WORDS` and those of courtesy. A few stop words, as in `just do it`, are
    one too. A single letter may be the rest of `S3`.
    """
    if 1 < len(words) <= _MOST_STOP_WORDS and STOP_WORDS.issuperset(words):
        return True
    if "make" in words and _MADE.isdisjoint(words):
        return False
    return not _SIGNS.isdisjoint(words) or not (_ANSWERS.isdisjoint(words) or _LIMITS.isdisjoint(words))
