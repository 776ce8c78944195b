"""Rewrite passive and inverted questions so that they begin with their question word.

Source: Jain & Dutta, "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 5: models answer questions that
begin with their question word better than passive and inverted ones, so the simpler forms of the latter are added to
the training data. The rules use no parser and leave a question unchanged if its structure is uncertain. Travels beside
a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..modeling.configuration_word_reader import QUESTION_WORDS
from .simplification_words import PAST_TENSES, QUESTION_WORD_OF, SETS

_REGULAR = re.compile(r"[a-z]+(?:[^e]ed|greed|reed|teed)")
_AUXILIARIES = SETS["be"] | SETS["have"] | SETS["do"] | SETS["modal"]
_PREPOSITIONS = SETS["preposition"]
_STRANDED = _PREPOSITIONS - SETS["not_stranded"]
_CLAUSE_BEGINS = SETS["conjunction"] | QUESTION_WORDS
_NOT_IN_PHRASE = (_PREPOSITIONS - {"of"}) | _CLAUSE_BEGINS | _AUXILIARIES
_SUBJECT_PRONOUNS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}

_LONGEST_PHRASE = 7
_LONGEST_SUBJECT = 12
_LONGEST_CLAUSE = 16
_LONGEST_ADJUNCT = 9


class _Question(NamedTuple):
    """The parts of a question."""

    preposition: str  # of the phrase, or ""
    phrase: tuple[str, ...]  # such as "which structure"
    auxiliary: str  # the finite verb, which precedes the subject
    subject: tuple[str, ...]  # empty if it is the first part of `rest`, whose end is unknown
    rest: tuple[str, ...]  # the other words

    @property
    def head(self) -> str:
        """The noun of the phrase, or its question word if it has no noun."""
        end = self.phrase.index("of") if "of" in self.phrase else len(self.phrase)
        return self.phrase[end - 1].lower()

    def to_text(self, preposition: str = "") -> str:
        return _sentence(*self.phrase, self.auxiliary, *self.subject, *self.rest, preposition)


def is_inverted(question: str) -> bool:
    """Whether a question does not begin with its question word, or has none."""
    first = re.search(r"[^\W\d_]+", question)
    return first is None or first.group().lower() not in QUESTION_WORDS


def simplify_question(question: str) -> str | None:
    """Rewrite a passive or inverted question so that it begins with its question word.

    "By whom was X written?" becomes "Who wrote X?", "In what year was X founded?" and "X was founded in what year?"
    become "When was X founded?", "X is beside which structure?" becomes "Which structure is X beside?", and "In 1960,
    who ruled X?" becomes "Who ruled X in 1960?".

    Args:
        question: a question in English.

    Returns:
        The simpler question, or None if no rule applies with certainty.
    """
    words = re.sub(r"\s*(?:\?[\s?]*|[.!]\s*)$", "", question).split()
    if len(words) < 4 or any("?" in word for word in words):
        return None
    lower = [word.lower() for word in words]
    simpler = None
    if lower[0] in QUESTION_WORDS:
        if lower[-1] == "by":
            simpler = _from_front(["by", *words[:-1]])
    elif lower[0] in _PREPOSITIONS and lower[1] in QUESTION_WORDS:
        simpler = _from_front(words)
    elif any(word.endswith(",") for word in words):
        simpler = _adjunct_last(words)
    else:
        simpler = _from_place(words)
    return simpler if simpler != _sentence(*words) else None


def _from_front(words: Sequence[str]) -> str | None:
    """Rewrite a question that begins with its phrase, as in "By whom was X written"."""
    end = next((place for place, word in enumerate(words) if place > 1 and word.lower() in _AUXILIARIES), None)
    if end is None or end == len(words) - 1:
        return None
    phrase = (*words[1 : end - 1], words[end - 1].rstrip(","))
    preposition, rest = words[0].lower(), words[end + 1 :]
    if not _is_phrase(phrase) or (preposition in SETS["approximate"] and phrase[0].lower() == "how"):
        return None
    if rest[-1].lower() == preposition:
        # "By whom is it applied by": the preposition is repeated where it belongs.
        rest = rest[:-1]
        can_end_with_preposition = bool(rest)
    else:
        can_end_with_preposition = (
            len(rest) <= _LONGEST_CLAUSE
            and not any("," in word for word in rest)
            and not {word.lower() for word in rest} & (_NOT_IN_PHRASE | {"cannot"})
            and rest[-1].lower() not in SETS["at_the_end"]
            and not rest[-1].endswith("ly")
        )
    question = _Question(preposition, phrase, words[end], (), tuple(rest))
    return _simpler(question, can_end_with_preposition)


def _from_place(words: Sequence[str]) -> str | None:
    """Rewrite a question that ends with its phrase, as in "X is beside which structure"."""
    lower = [word.lower() for word in words]
    start = max((place for place, word in enumerate(lower) if word in QUESTION_WORDS), default=0)
    verbs = [place for place, word in enumerate(lower) if word in _AUXILIARIES]
    if len(verbs) != 1 or not 0 < verbs[0] < start:
        return None
    [verb] = verbs
    phrase, subject, rest = tuple(words[start:]), words[:verb], words[verb + 1 : start]
    forbidden = _CLAUSE_BEGINS | _SUBJECT_PRONOUNS.keys() | {"and", "or", "but", "than", "it"}
    if not _is_phrase(phrase) or not _is_subject(subject) or forbidden & set(lower[verb:start]):
        return None
    preposition = ""
    if rest and lower[start - 1] in _STRANDED:
        preposition, rest = lower[start - 1], rest[:-1]
        is_sure = True
    else:
        is_sure = _past_tense(rest[-1]) is not None if rest else lower[verb] in SETS["be"]
    # "Have" and "do" may be main verbs: "Downtown has which building".
    is_auxiliary = lower[verb] not in SETS["have"] | SETS["do"] or rest[:1] == ["been"]
    if not is_sure or not is_auxiliary:
        return None
    first = lower[0] if lower[0] in _PREPOSITIONS | SETS["lower_inside"] else words[0]
    question = _Question(preposition, phrase, lower[verb], (first, *subject[1:]), tuple(rest))
    return _simpler(question, can_end_with_preposition=True)


def _adjunct_last(words: Sequence[str]) -> str | None:
    """Move an adjunct and its comma from the beginning to the end, as in "In 1960, who ruled X"."""
    commas = [place for place, word in enumerate(words) if "," in word]
    end = commas[0]
    clause = words[end + 1 :]
    if (
        len(commas) > 1
        or not words[end].endswith(",")
        or end >= _LONGEST_ADJUNCT
        or words[0].lower() not in SETS["adjunct_begin"]
        or not 3 <= len(clause) <= _LONGEST_CLAUSE
        or clause[0].lower() not in QUESTION_WORDS
        or any(word.lower() in _CLAUSE_BEGINS | SETS["saying"] for word in (*words[:end], *clause[1:]))
    ):
        return None
    return _sentence(*clause, words[0].lower(), *words[1:end], words[end].rstrip(","))


def _simpler(question: _Question, can_end_with_preposition: bool) -> str | None:
    """Apply the first rule that fits a parsed question."""
    preposition, phrase, head = question.preposition, question.phrase, question.head
    for prepositions, nouns, word in QUESTION_WORD_OF:
        if preposition in prepositions and len(phrase) == 2 and head in nouns:
            return question._replace(phrase=(word,)).to_text()
    # "Which day" for "on which day", and "how long" for "for how long".
    is_time = head in SETS["time"]
    how = " ".join(phrase[:2]).lower()
    is_duration = preposition == "for" and (how == "how long" or (how == "how many" and is_time))
    if is_duration or (is_time and preposition in SETS["time_preposition"]):
        return question.to_text()
    active = _active(question)
    if active is not None or not preposition:
        return active or question.to_text()
    is_separable = preposition in _STRANDED and head not in SETS["idiom"] | {"when", "why", "how"}
    return question.to_text(preposition) if can_end_with_preposition and is_separable else None


def _active(question: _Question) -> str | None:
    """Rewrite "by whom was X written" as "who wrote X"."""
    is_agent = len(question.phrase) == 1 or question.head in SETS["agent"]
    auxiliary = question.auxiliary.lower()
    if question.preposition != "by" or not is_agent or "by" in question.rest:
        return None
    words = [*question.subject, *question.rest]
    first = max(len(question.subject), 1)
    participles = [place for place in range(first, len(words)) if _past_tense(words[place]) is not None]
    if len(participles) != 1 and not (question.subject and participles):
        return None
    place = participles[0]
    before, rest = words[:place], words[place + 1 :]
    adverbs: list[str] = []
    while len(before) > 1 and (before[-1] in SETS["adverb"] or before[-1].endswith("ly")):
        adverbs.insert(0, before.pop())
    if auxiliary in SETS["have"] and before[-1] == "been":
        before = before[:-1]
        have = "had" if auxiliary == "had" else "have" if question.head.endswith("s") else "has"
        verb = [have, *adverbs, words[place]]
    elif auxiliary in {"was", "were"}:
        verb = [*adverbs, _past_tense(words[place]) or ""]
    else:
        return None
    is_subject = before == list(question.subject) if question.subject else bool(before)
    is_empty = before in (["it"], ["there"]) and bool(rest) and rest[0] in {"that", "to"}
    if not is_subject or is_empty or (_AUXILIARIES | SETS["not_active"]) & {*adverbs, *before}:
        return None
    if len(before) == 1:
        before = [_SUBJECT_PRONOUNS.get(before[0].lower(), before[0])]
    return _sentence(*question.phrase, *verb, *before, *rest)


def _is_phrase(words: Sequence[str]) -> bool:
    """Whether words are a question word and a noun phrase."""
    others = {word.lower() for word in words[1:]}
    return (
        len(words) <= _LONGEST_PHRASE
        and words[0].lower() in QUESTION_WORDS
        and not others & (_NOT_IN_PHRASE | SETS["at_the_end"])
        and not any("," in word for word in words)
    )


def _is_subject(words: Sequence[str]) -> bool:
    """Whether the words before a finite verb are only its subject."""
    lower = [word.lower() for word in words]
    return (
        len(words) <= _LONGEST_SUBJECT
        and lower[0] not in _PREPOSITIONS | _CLAUSE_BEGINS | {"according", "due"}
        and lower[-1] not in {"and", "or", "but"}
        and not set(lower) & (_CLAUSE_BEGINS | SETS["saying"])
        and (len(words) == 1 or not set(lower) & {*_SUBJECT_PRONOUNS, "it", "you"})
        and all(_past_tense(word) is None for word in words)
    )


def _past_tense(participle: str) -> str | None:
    """Return the past tense of a past participle; None if it may not be one."""
    if participle in PAST_TENSES:
        return PAST_TENSES[participle]
    return participle if _REGULAR.fullmatch(participle) and participle not in SETS["not_participle"] else None


def _sentence(*words: str) -> str:
    """Join words to a question; "whom" at the beginning becomes "who"."""
    first, *others = words
    first = "who" if first.lower() == "whom" else first
    return " ".join([first[:1].upper() + first[1:], *filter(None, others)]).rstrip(" ,") + "?"
