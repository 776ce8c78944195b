"""Questions rewritten to begin with their question word and to be read actively.

Source: "You Just Want Attention" (QANet and BiDAF on SQuAD 2.0), section 5: models answer questions that begin with
their question word better than passive and inverted ones, so the latter are added to the training data in a simpler
form. The rules here need no parser; where they cannot be sure of the words' parts, they leave a question as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from datasets import Dataset, concatenate_datasets

from .squad import check_squad_columns


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


QUESTION_WORDS = _set("what which who whom whose when where why how")

_BE = _set("is are was were")
_HAVE = _set("has have had")
_DO = _set("do does did")
_AUXILIARIES = _BE | _HAVE | _DO | _set("can could will would should may might must")
_PREPOSITIONS = _set(
    "about above across after against along among around as at before behind below beneath beside besides between "
    "beyond by despite down during following for from in inside into like near of off on onto out outside over past "
    "per since through throughout to toward towards under until up upon via with within without"
)
# Those that may stand alone at the end of a question: "What city was it discovered in?"
_STRANDED = _PREPOSITIONS - _set(
    "before besides despite down following like off out outside past per since until up via"
)
_ADJUNCT_BEGINS = _set(
    "according after along aside at before besides beyond by despite during following for from in like on other "
    "outside per prior rather since throughout under unlike until upon with within"
)
_CLAUSE_BEGINS = _set("that because if while although though whether unless whereas") | QUESTION_WORDS
_SAYING = _set("believe believes claim claims hold holds know knows mean means say says said think thinks thought")
_SUBJECT_PRONOUNS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_PRONOUNS = _SUBJECT_PRONOUNS.keys() | _set("it you")
# Capital letters that only the beginning of the sentence gave these words.
_LOWER_INSIDE = _PREPOSITIONS | _set(
    "the a an this that these those his her its their our my your he she it we they all another any both each every "
    "few many more most much one other several some there two three four"
)
_ADVERBS = _set("also already always first formerly largely later mostly most never not now often once originally then")
_AT_THE_END = _set("again annually currently now there today together yearly")

# "About how many" has no preposition.
_APPROXIMATE = _set("about above around near over under")
_TIMES = _set(
    "century centuries date dates day days decade decades era eras month months period periods season seasons time "
    "times week weeks weekend year years"
)
_TIME_PREPOSITIONS = _set("in on at during")
# Nouns that make a preposition and its noun an adverb; the preposition cannot stand apart from them.
_IDIOMS = _set("case degree extent order point rate regard regards respect respects sense terms time times way ways")
_AGENTS = _set(
    "actor actress agency architect army artist author body club commission committee companies company "
    "corporation council countries country emperor empire entities entity family firm government group groups "
    "individual individuals institution king magazine man men ministry nation organisation organisations "
    "organization organizations party people peoples person player pope president publisher queen singer state "
    "team teams tribe university woman women writer"
)
# Preposition(s), nouns -> the question word that says the same.
_QUESTION_WORD_OF = (
    (_TIME_PREPOSITIONS, _set("year date"), "when"),
    (_set("in at on"), _set("place places location locations"), "where"),
    (_set("in by through"), _set("way ways manner means method"), "how"),
    (_set("for"), _set("purpose reason reasons"), "why"),
)

# Irregular past participles whose past tense is the same, and those "participle/past tense" where it is not.
_ALIKE = _set(
    "bound bought broadcast brought built cast caught cut dug fed felt fought found ground held heard hit hung kept "
    "laid led left lent lost made meant met overheard paid put read rebuilt said sent set shot shut sold sought spent "
    "split spread struck stuck swept taught thought told understood upheld won wound"
)
_UNLIKE = _set(
    "beaten/beat begun/began bitten/bit blown/blew borne/bore broken/broke chosen/chose done/did drawn/drew "
    "driven/drove eaten/ate forbidden/forbade foreseen/foresaw forgotten/forgot frozen/froze given/gave hidden/hid "
    "known/knew overcome/overcame overrun/overran overseen/oversaw overtaken/overtook overthrown/overthrew "
    "proven/proved rewritten/rewrote ridden/rode run/ran seen/saw shaken/shook shown/showed spoken/spoke stolen/stole "
    "sung/sang sunk/sank taken/took thrown/threw torn/tore undertaken/undertook withdrawn/withdrew worn/wore "
    "woven/wove written/wrote"
)
_PAST_TENSES = {word: word for word in _ALIKE} | {
    participle: past for participle, _, past in (pair.partition("/") for pair in _UNLIKE)
}
_NOT_PARTICIPLES = _set("embed hundred kindred naked sacred shed sled wicked")
_REGULAR = re.compile(r"[a-z]+(?:[^e]ed|greed|reed|teed)")
# Beside one of these a passive has no plain active.
_NOT_ACTIVE = _AUXILIARIES | _set("be been being never not")

_LONGEST_PHRASE = 7
_LONGEST_SUBJECT = 12
_LONGEST_CLAUSE = 16
_LONGEST_ADJUNCT = 9


@dataclass(frozen=True)
class _Question:
    """A question taken apart.

    Attributes:
        preposition: the one before the question phrase, or "".
        phrase: the question phrase, such as "which structure".
        auxiliary: the finite verb that stands before the subject of a question.
        subject: words of the subject; empty where it is the unknown first part of `rest`.
        rest: words after it.
    """

    preposition: str
    phrase: tuple[str, ...]
    auxiliary: str
    subject: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def head(self) -> str:
        """The noun of the phrase, or its question word where it has none."""
        end = self.phrase.index("of") if "of" in self.phrase else len(self.phrase)
        return self.phrase[end - 1].lower()

    def written(self, preposition: str = "") -> str:
        """Write the question with its question word first, and maybe a preposition last."""
        return _sentence(*self.phrase, self.auxiliary, *self.subject, *self.rest, preposition)


def is_inverted(question: str) -> bool:
    """Whether a question does not begin with its question word (or has none)."""
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
        The simpler question, or None where no rule applies for certain.
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


def simplify_questions(rows: Dataset) -> Dataset:
    """Add the simpler form of every question that has one.

    Args:
        rows: questions with the columns of SQuAD.

    Returns:
        All rows as they were, and after them a row for each simpler form, with the id, the context and the answers of
        its question.

    Raises:
        ValueError: columns are missing.
    """
    check_squad_columns(rows, "rows")
    simpler = {number: simplify_question(question) for number, question in enumerate(rows["question"])}
    found = {number: question for number, question in simpler.items() if question is not None}
    if not found:
        return rows
    added = rows.select(list(found)).remove_columns("question").add_column("question", list(found.values()))
    return concatenate_datasets([rows, added.select_columns(rows.column_names).cast(rows.features)])


def _from_front(words: Sequence[str]) -> str | None:
    """Rewrite preposition, question phrase, auxiliary, subject and the rest, as in "By whom was X written"."""
    end = next((place for place, word in enumerate(words) if place > 1 and word.lower() in _AUXILIARIES), None)
    if end is None or end == len(words) - 1:
        return None
    phrase = (*words[1 : end - 1], words[end - 1].rstrip(","))
    preposition, rest = words[0].lower(), words[end + 1 :]
    if not _is_phrase(phrase) or (preposition in _APPROXIMATE and phrase[0].lower() == "how"):
        return None
    forbidden = (_PREPOSITIONS - {"of"}) | _CLAUSE_BEGINS | _AUXILIARIES | {"cannot"}
    if rest[-1].lower() == preposition:
        # "By whom is it applied by": what is said twice is already in its place.
        rest = rest[:-1]
        can_stand_last = bool(rest)
    else:
        can_stand_last = (
            len(rest) <= _LONGEST_CLAUSE
            and not any("," in word for word in rest)
            and not {word.lower() for word in rest} & forbidden
            and rest[-1].lower() not in _AT_THE_END
            and not rest[-1].endswith("ly")
        )
    question = _Question(preposition, phrase, words[end], (), tuple(rest))
    return _simpler(question, can_stand_last)


def _from_place(words: Sequence[str]) -> str | None:
    """Rewrite subject, auxiliary, the rest and the question phrase at the end, as in "X is beside which structure"."""
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
        is_sure = _past_tense(rest[-1]) is not None if rest else lower[verb] in _BE
    # Have and do may be the only verb: "Downtown has which building".
    is_auxiliary = lower[verb] not in _HAVE | _DO or rest[:1] == ["been"]
    if not is_sure or not is_auxiliary:
        return None
    question = _Question(preposition, phrase, words[verb].lower(), _inside(subject), tuple(rest))
    return _simpler(question, can_stand_last=True)


def _adjunct_last(words: Sequence[str]) -> str | None:
    """Move to the end what stands before the question and its comma, as in "In 1960, who ruled X"."""
    commas = [place for place, word in enumerate(words) if "," in word]
    end = commas[0]
    clause = words[end + 1 :]
    if (
        len(commas) > 1
        or not words[end].endswith(",")
        or end >= _LONGEST_ADJUNCT
        or words[0].lower() not in _ADJUNCT_BEGINS
        or not 3 <= len(clause) <= _LONGEST_CLAUSE
        or clause[0].lower() not in QUESTION_WORDS
        or any(word.lower() in _CLAUSE_BEGINS | _SAYING for word in (*words[:end], *clause[1:]))
    ):
        return None
    return _sentence(*clause, words[0].lower(), *words[1:end], words[end].rstrip(","))


def _simpler(question: _Question, can_stand_last: bool) -> str | None:
    """Choose how to write a question that was taken apart."""
    rules: tuple[Callable[[_Question], str | None], ...] = (_with_question_word, _without_preposition, _active)
    for rule in rules:
        written = rule(question)
        if written is not None:
            return written
    if not question.preposition:
        return question.written()
    stands_apart = question.preposition in _STRANDED and question.head not in _IDIOMS | {"when", "why", "how"}
    return question.written(question.preposition) if can_stand_last and stands_apart else None


def _with_question_word(question: _Question) -> str | None:
    """Write "when" for "in what year", and the like."""
    for prepositions, nouns, word in _QUESTION_WORD_OF:
        if question.preposition in prepositions and len(question.phrase) == 2 and question.head in nouns:
            return replace(question, phrase=(word,)).written()
    return None


def _without_preposition(question: _Question) -> str | None:
    """Write "which day" for "on which day", and "how long" for "for how long"."""
    is_time = question.preposition in _TIME_PREPOSITIONS and question.head in _TIMES
    how = tuple(word.lower() for word in question.phrase[:2])
    is_duration = question.preposition == "for" and (
        how == ("how", "long") or (how == ("how", "many") and question.head in _TIMES)
    )
    return question.written() if is_time or is_duration else None


def _active(question: _Question) -> str | None:
    """Write "who wrote X" for "by whom was X written"."""
    is_agent = len(question.phrase) == 1 or question.head in _AGENTS
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
    while len(before) > 1 and (before[-1] in _ADVERBS or before[-1].endswith("ly")):
        adverbs.insert(0, before.pop())
    if auxiliary in _HAVE and before[-1] == "been":
        before = before[:-1]
        have = "had" if auxiliary == "had" else "have" if question.head.endswith("s") else "has"
        verb = [have, *adverbs, words[place]]
    elif auxiliary in {"was", "were"}:
        verb = [*adverbs, _past_tense(words[place]) or ""]
    else:
        return None
    is_subject = before == list(question.subject) if question.subject else bool(before)
    is_empty = before in (["it"], ["there"]) and bool(rest) and rest[0] in {"that", "to"}
    if not is_subject or is_empty or _NOT_ACTIVE & {*adverbs, *before}:
        return None
    if len(before) == 1:
        before = [_SUBJECT_PRONOUNS.get(before[0].lower(), before[0])]
    return _sentence(*question.phrase, *verb, *before, *rest)


def _is_phrase(words: Sequence[str]) -> bool:
    """Whether words are a question word, and a noun with what belongs to it."""
    others = {word.lower() for word in words[1:]}
    forbidden = (_PREPOSITIONS - {"of"}) | _CLAUSE_BEGINS | _AUXILIARIES | _AT_THE_END
    return (
        len(words) <= _LONGEST_PHRASE
        and words[0].lower() in QUESTION_WORDS
        and not others & forbidden
        and not any("," in word for word in words)
    )


def _is_subject(words: Sequence[str]) -> bool:
    """Whether words before a finite verb are its subject and nothing else."""
    lower = [word.lower() for word in words]
    return (
        len(words) <= _LONGEST_SUBJECT
        and lower[0] not in _PREPOSITIONS | _CLAUSE_BEGINS | {"according", "due"}
        and lower[-1] not in {"and", "or", "but"}
        and not set(lower) & (_CLAUSE_BEGINS | _SAYING)
        and (len(words) == 1 or not set(lower) & _PRONOUNS)
        and all(_past_tense(word) is None for word in words)
    )


def _past_tense(participle: str) -> str | None:
    """Give the past tense that belongs to a past participle; None if this is none for certain."""
    if participle in _PAST_TENSES:
        return _PAST_TENSES[participle]
    return participle if _REGULAR.fullmatch(participle) and participle not in _NOT_PARTICIPLES else None


def _inside(words: Sequence[str]) -> tuple[str, ...]:
    """Take the capital letter from the first word where only its place gave it one."""
    first = words[0].lower() if words[0].lower() in _LOWER_INSIDE else words[0]
    return (first, *words[1:])


def _sentence(*words: str) -> str:
    """Join words to a question; one that begins with "whom" begins with "who"."""
    first, *others = words
    first = "who" if first.lower() == "whom" else first
    return " ".join([first[:1].upper() + first[1:], *filter(None, others)]).rstrip(" ,") + "?"
