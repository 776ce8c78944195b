"""English negation cues, found in a sentence's words with a lexicon.

The lexicon is the first half of this module, the finder the second. What counts as a cue follows the annotation of
*SEM 2012 (CD-SCO: Morante and Daelemans, "ConanDoyle-neg", LREC 2012), with the clinical and scientific cues of
BioScope (Vincze et al., 2008) added: so "no one" and "no longer" hold the cue "no", an affix is a cue of its own
("im" in *impossible*), and what only looks like a negation ("no doubt", "not only", a tag question) is none.

Nothing but the standard library is imported, so that the file also works when copied beside a checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --------------------------------------------------------------------------------------------------- the lexicon

SINGLE_CUES = _words(
    """
    not no never none nothing nobody nowhere without neither nor cannot no-one noone nope naught nought ne'er non lack
    lacks lacked lacking
    """
)

# The first word alone is the cue, and only before the second.
CUES_BEFORE = {"absence": "of", "fail": "to", "fails": "to", "failed": "to", "failing": "to", "failure": "to"}

# Every word belongs to the one cue. Phrases around an ordinary cue ("not at all", "in no way", "no longer") need no
# entry: there the ordinary cue is annotated.
PHRASE_CUES: tuple[tuple[str, ...], ...] = (
    ("by", "no", "means"),
    ("on", "the", "contrary"),
    ("rather", "than"),
    ("with", "the", "exception", "of"),
    ("nothing", "at", "all"),
    ("not", "for", "the", "world"),
)

# Phrases that hold a cue word and negate nothing, or something that no scope marks.
FALSE_PHRASES: tuple[tuple[str, ...], ...] = (
    ("no", "doubt"),
    ("no", "sooner"),
    ("not", "only"),
    ("not", "but"),
    ("not", "help", "but"),
    ("nothing", "but"),
    ("nothing", "short", "of"),
    ("none", "other", "than"),
    ("none", "the", "less"),
    ("never", "the", "less"),
    ("without", "more", "ado"),
    ("without", "further", "ado"),
    ("without", "doubt"),
    ("without", "a", "doubt"),
)

# "there can be no doubt", "I have no doubt": with one of these up to three words before, "no doubt" does negate.
DOUBT_OPENERS = _words("there there's have has had having leaves left")

AUXILIARIES = _words(
    """
    is are was were am be do does did have has had can could will would shall should may might must ca wo need
    """
)
PRONOUNS = _words("i you he she it we they there")
BELIEF_VERBS = _words("think see know agree believe suppose find")

# Verbs and auxiliaries with "not" run into them and the apostrophe left out.
BARE_CONTRACTIONS = _words(
    """
    isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt mustnt neednt
    mightnt aint
    """
)
# "as was his wont", "thieves' cant": after these the two are nouns.
NOUN_OPENERS = _words("a an the his her its my our their your this that of")

# Prefix -> the beginnings of what follows it in words where the prefix negates. These prefixes mean something else
# more often than not ("inside", "image", "discuss", "about"), so what they negate is listed.
NEGATED_STEMS: dict[str, frozenset[str]] = {
    "in": _words(
        """
        abilit accessib accura action activ adequa admissib advert advisab anima applicab appropriat apt articulate
        attent audib auspicious capab capacit coheren comparab compatib compet complet comprehens conceiv conclus
        congru consequent considera consisten consolab conspicuous constan contestab contro conven correct corruptib
        curab defensib defina definit describ destructib determin digest direct discre dispensab disput distinct
        divisib edib effect efficac efficien elast elegan eligib eloquen equalit equitab escapab exact excusab
        exhaustib exorab expedien expensive experience explicab expressib extricab fallib felicit fertil flexib formal
        frequen gratitude harmonious hospitab human imitab judicious justice numerab offensive operab operativ
        opportune orderly organic palatab sane sanit scrutab secur sensib sensitiv separab significan sincer solub
        solven stabilit sufferab sufficien superab surmountab tangib temperat terminab tolera tractab valid variab
        visib voluntar vulnerab
        """
    ),
    "im": _words(
        """
        balanc material matur measurab mobil modera modest moral mortal movab mutab palpab partial passab patien
        penetrab percept perfect permanen permeab permissib personal plausib polite politic ponderab possib potent
        practic precis probab proper propriet provident pruden pure purit
        """
    ),
    "il": _words("legal legib legitim liberal liquid litera logic"),
    "ir": _words(
        """
        rational reconcilab recoverab reducib refutab regular relevan religio remediab removab reparab replaceab
        repressib reproachab resistib resolut responsib responsive retrievab reveren reversib revocab
        """
    ),
    "dis": _words(
        """
        agree allow approbat approv belie comfort connect content courte favo honest honor honour inclin interested
        like loyal obedien obey organiz organis passionate pleas proportion quiet reputab respect satisf similar
        tasteful trust united
        """
    ),
    "a": _words("febrile moral political septic sexual symmetr symptom systol typical"),
}
# Prefix -> the beginnings of what follows it in words where the prefix does not negate: "under", "unit", "unlock".
# These two negate everywhere else.
FALSE_STEMS: dict[str, frozenset[str]] = {
    "un": _words(
        """
        anim bosom button cork couth cover ction ctuous der did dress dul earth fasten fold furl guent hook icef icell
        icorn icycl idirect ifi iform ify ilater ion ipol iqu ison ity ite itar itie ivers kennel knot leash load lock
        mask nerv pack plug ravel roll screw seal swath tie twist veil wind wound wrap zip
        """
    ),
    "non": _words("agen chalan conform descript etheless plus sense sensical"),
}
# Whole words for the same purpose, where a beginning would say too much ("undone", but "undoctored").
FALSE_AFFIX_WORDS = _words(
    """
    uncle uncles undo undoes undoing undone undoubted undoubtedly unit units unix unless unrest until unto
    """
)
# Stem + "less" words that say "very" or "in spite of" rather than "without".
FALSE_LESS_STEMS = _words(
    """
    count doubt neverthe nonethe number price reck regard relent ruth stain time top wire
    """
)

# --------------------------------------------------------------------------------------------------- the finder

_SENTENCE_END = _words(". ! ? ;")
_TITLES = _words("mr mrs ms dr prof st")  # the full stop after one ends no sentence
_PARTNER_WINDOW = 40  # words between "neither" and its "nor"
_MIN_STEM = 3
_LONGEST_AFFIXED = 40  # characters; no English word is longer

_CONTRACTION = re.compile(r"[^\W\d_]+(n['’ʼ＇`´]t)", re.IGNORECASE)
_NEGATED_VERB = re.compile(r"n['’ʼ＇`´]t", re.IGNORECASE)
_FUSED_CANNOT = re.compile(r"can(not)", re.IGNORECASE)
_LESS = re.compile(r"[a-z-]{3,}?(less)(?:ly|ness)?", re.IGNORECASE)
_PREFIX = re.compile(r"(non|dis|un|in|im|il|ir|a)(-?)([a-z-]+)", re.IGNORECASE)
_WORD = re.compile(r"\w")


class WordLike(Protocol):
    """A word with its character span: ``text == source[start:end]``."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102


class CueSpan(NamedTuple):
    """Characters ``start`` to ``end`` (not included) of the text."""

    start: int
    end: int


class FoundCue(NamedTuple):
    """One cue.

    Attributes:
        parts: its spans in order: one for most cues, several for a discontinuous one (*neither ... nor*) or one of
            several words, the affix alone for an affix (``un`` in *unhappy*).

    """

    parts: tuple[CueSpan, ...]


def find_cues(text: str, words: Sequence[WordLike], *, affixes: bool = True) -> list[FoundCue]:
    """Find the negation cues of a text.

    Args:
        text: one sentence or several.
        words: its words in order, with spans in ``text``. The splitting of ``clozeformers.words`` ("is" "n't")
            is what the lexicon was measured on; whole contractions ("isn't", "cannot", "dont") are understood too.
        affixes: also find affixes ("im" in *impossible*), which CD-SCO annotates and BioScope and SFU Review do not.

    Returns:
        The cues in order of their first part; none is empty and no two share a character. The time taken grows
        linearly with the number of words.

    """
    lowered = [word.text.lower() for word in words]
    found: list[FoundCue] = []
    taken: set[int] = set()  # words that a "neither" found before them
    position = 0
    while position < len(words):
        skipped = _false_phrase(lowered, position)
        if skipped:
            position += skipped
            continue
        length = _phrase_length(lowered, position)
        if length:
            span = CueSpan(words[position].start, words[position + length - 1].end)
            found.append(FoundCue((span,)))
            position += length
            continue
        if position not in taken:
            cue = _cue_at(words, lowered, position, taken, affixes)
            if cue is not None:
                found.append(cue)
        position += 1
    return found


def _cue_at(
    words: Sequence[WordLike], lowered: list[str], position: int, taken: set[int], affixes: bool
) -> FoundCue | None:
    """Find the cue that begins at a word, or None; "neither" adds the positions of its "nor" to ``taken``."""
    word, low = words[position], lowered[position]
    if low in SINGLE_CUES:
        if _is_false_single(lowered, position):
            return None
        places = [position]
        if low == "neither":
            places += _partners(lowered, position)
            taken.update(places)
        span = _FUSED_CANNOT.fullmatch(word.text)
        if span:
            return _part(word, span.start(1), span.end(1))
        return FoundCue(tuple(CueSpan(words[place].start, words[place].end) for place in places))
    if low in CUES_BEFORE:
        found = _at(lowered, position + 1) == CUES_BEFORE[low] and _at(lowered, position - 1) != "or"
        return _part(word, 0, len(word.text)) if found else None
    if _NEGATED_VERB.fullmatch(low) is not None:
        return None if _is_expecting_yes(lowered, position) else _part(word, 0, len(word.text))
    return _contraction(word, lowered, position) or (_affix(word) if affixes else None)


def _part(word: WordLike, start: int, end: int) -> FoundCue:
    """Make a cue of the characters ``start`` to ``end`` of a word."""
    return FoundCue((CueSpan(word.start + start, word.start + end),))


def _at(lowered: list[str], position: int) -> str:
    """Read the word at a position, ``""`` before the first and after the last."""
    return lowered[position] if 0 <= position < len(lowered) else ""


def _matches(lowered: list[str], position: int, phrase: tuple[str, ...]) -> bool:
    return tuple(lowered[position : position + len(phrase)]) == phrase


def _index_by_first_word(phrases: tuple[tuple[str, ...], ...]) -> dict[str, list[tuple[str, ...]]]:
    index: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        index.setdefault(phrase[0], []).append(phrase)
    return index


_PHRASES_BY_WORD = _index_by_first_word(PHRASE_CUES)
_FALSE_BY_WORD = _index_by_first_word(FALSE_PHRASES)


def _phrase_length(lowered: list[str], position: int) -> int:
    """Count the words of the longest cue phrase that begins here, 0 without one."""
    candidates = _PHRASES_BY_WORD.get(lowered[position], [])
    return next((len(phrase) for phrase in candidates if _matches(lowered, position, phrase)), 0)


def _false_phrase(lowered: list[str], position: int) -> int:
    """Count the words of the longest phrase that begins here and holds no cue after all, 0 without one."""
    for phrase in _FALSE_BY_WORD.get(lowered[position], []):
        if _matches(lowered, position, phrase):
            before = lowered[max(0, position - 3) : position]
            negates = phrase == ("no", "doubt") and not DOUBT_OPENERS.isdisjoint(before)
            return 0 if negates else len(phrase)
    return 0


def _is_false_single(lowered: list[str], position: int) -> bool:
    """Whether the word here is a cue word by its letters only."""
    low, before, after = lowered[position], _at(lowered, position - 1), _at(lowered, position + 1)
    if low == "no" and after == ".":  # "No. 5"
        return _at(lowered, position + 2)[:1].isdecimal()
    if low == "not":
        ends = not _WORD.match(after)
        tag = before in PRONOUNS and _at(lowered, position - 2) in AUXILIARIES and _at(lowered, position - 3) == ","
        return ends and (tag or before in ("or", "as"))  # "did he not?", "whether or not", "as likely as not"
    if low == "nothing" and before == "for":
        return not _WORD.match(after)
    return low == "non" and not after.isalpha()  # alone it is a foreign word


def _is_expecting_yes(lowered: list[str], position: int) -> bool:
    """Whether an "n't" asks for agreement: "don't you think ...", "..., isn't it?"."""
    if _at(lowered, position + 1) not in PRONOUNS or _at(lowered, position - 2) == "why":
        return False
    following = _at(lowered, position + 2)
    return following in BELIEF_VERBS or (not _WORD.match(following) and _at(lowered, position - 2) == ",")


def _partners(lowered: list[str], position: int) -> list[int]:
    """Positions of every "nor" that continues the "neither" at ``position``, within its sentence and a window."""
    places: list[int] = []
    for place in range(position + 1, min(position + 1 + _PARTNER_WINDOW, len(lowered))):
        ends = lowered[place] in _SENTENCE_END and lowered[place - 1] not in _TITLES
        if ends or lowered[place] == "neither":
            break
        # A second "nor" before an auxiliary opens a clause of its own: "..., nor could I discover any sign".
        if lowered[place] == "nor" and not (places and _at(lowered, place + 1) in AUXILIARIES):
            places.append(place)
    return places


def _contraction(word: WordLike, lowered: list[str], position: int) -> FoundCue | None:
    """Find the negation inside a contraction that stands as one word: "isn't", "dont"."""
    size = len(word.text)
    if size > _LONGEST_AFFIXED:
        return None
    match = _CONTRACTION.fullmatch(word.text)
    if match:
        return _part(word, match.start(1), match.end(1))
    is_noun = _at(lowered, position - 1) in NOUN_OPENERS or (lowered[position], _at(lowered, position + 1)) == (
        "wont",
        "to",
    )
    return _part(word, size - 2, size) if lowered[position] in BARE_CONTRACTIONS and not is_noun else None


def _affix(word: WordLike) -> FoundCue | None:
    """Find the negative affix of a word."""
    if len(word.text) > _LONGEST_AFFIXED or not word.text.isascii() or word.text.lower() in FALSE_AFFIX_WORDS:
        return None
    less = _LESS.fullmatch(word.text)
    if less and word.text[: less.start(1)].lower() not in FALSE_LESS_STEMS:
        return _part(word, less.start(1), less.end(1))
    match = _PREFIX.fullmatch(word.text)
    if match and _is_negated(match[1].lower(), match[3].lower()):
        return _part(word, 0, match.end(1))
    return None


def _is_negated(prefix: str, rest: str) -> bool:
    """Whether a prefix negates the rest of its word, by the two tables of stems."""
    if len(rest) < _MIN_STEM:
        return False
    stems = NEGATED_STEMS.get(prefix) or FALSE_STEMS[prefix]
    listed = any(rest[:length] in stems for length in range(1, len(rest) + 1))
    return listed == (prefix in NEGATED_STEMS)
