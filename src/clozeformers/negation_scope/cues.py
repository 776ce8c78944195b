"""Find English negation cues with a lexicon.

The annotation of *SEM 2012 (CD-SCO: Morante and Daelemans, "ConanDoyle-neg", LREC 2012) decides what is a cue, with the
clinical and scientific cues of BioScope (Vincze et al., 2008), and others that neither corpus annotates (*hardly*,
*denies*), added: "no one" and "no longer" hold the cue "no", an affix is a cue of its own ("im" in *impossible*), and
phrases that only look like a negation ("no doubt", "not only", a tag question) hold none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from ..text import truncate_repr
from ..words import Word, plain

Span = tuple[int, int]
_Phrases = dict[str, list[tuple[str, ...]]]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> _Phrases:
    """Parse phrases, separated by semicolons, into an index by first word, the longest phrase first."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(part.split()) for part in text.split(";")), key=len, reverse=True):
        index.setdefault(phrase[0], []).append(phrase)
    return index


SINGLE_CUES = _words(
    "not no never none nothing nobody nowhere without neither nor cannot no-one noone nope naught nought ne'er non "
    "lack lacks lacked lacking absent unable w/o w/out "
    "hardly scarcely deny denies denied denying refuses refused refusing"
)
# These affirm within three words after a negation: "cannot be denied", "cannot be ruled out".
_AFFIRMED_IF_NEGATED = _words("deny denied denying ruled")
_NEGATION = re.compile(r"not|no|nor|never|cannot|nobody|.*n't")

# The key alone is the cue, and only before the value.
CUES_BEFORE = {"absence": "of", "fail": "to", "fails": "to", "failed": "to", "failing": "to", "failure": "to"}
CUES_BEFORE |= {"free": "of", "negative": "for", "neg": "for"}

# All words of a phrase are one cue. Phrases around a single cue ("not at all", "in no way", "no longer") need no entry:
# there the single cue is annotated.
PHRASE_CUES = _phrases(
    "by no means; on the contrary; rather than; with the exception of; nothing at all; not for the world; "
    "ruled out; rules out; ruling out"
)

# Phrases with a cue word that negate nothing, or something without an annotated scope.
FALSE_PHRASES = _phrases(
    "no doubt; no sooner; not only; not but; not help but; nothing but; nothing short of; none other than; "
    "none the less; never the less; without more ado; without further ado; without doubt; without a doubt; "
    "whether or not; more often than not; as often as not; all but absent; absent from; absent of; free of charge; "
    "no later than; no earlier than"
)

# Whether a corpus annotates affixes as cues; of other corpora, the rows tell.
CORPUS_HAS_AFFIXES = {"cd-sco": True, "bioscope": False, "sfu": False}


def has_affixes(corpus: str | None, config: Any = None) -> bool:
    """Whether affixes are cues: not in a corpus that annotates none, nor to a model that has learnt none."""
    return CORPUS_HAS_AFFIXES.get(corpus or "", True) and (config is None or config.affixes is not False)


# What a corpus annotates otherwise: entries that are no cues in it, and false phrases that hold cues.
_UNCERTAIN = _words("hardly scarcely deny denies denied denying refuses refused refusing")
NO_CUES_IN = {
    "cd-sco": _UNCERTAIN | {"absent"},
    "bioscope": _UNCERTAIN,
    "sfu": _UNCERTAIN | _words("absent unable free negative ruled rules ruling"),
}
PHRASES_WITH_CUES_IN = {
    "sfu": {("not", "only"), ("whether", "or", "not"), ("more", "often", "than", "not"), ("without", "a", "doubt")}
}

# Phrases that one corpus annotates as a single cue, or not as a negation, in the documents that the packaged model was
# trained on: "not clear" is speculation in BioScope.
PHRASE_CUES_IN = {"bioscope": _phrases("can not; cannot; no longer")}
FALSE_PHRASES_IN = {
    "bioscope": _phrases(
        "can not only; cannot only; "
        "not always; not clear; not markedly; not necessarily; not significant; not significantly"
    )
}

# "No doubt" negates after one of these, up to three words before: "there can be no doubt", "I have no doubt".
DOUBT_OPENERS = _words("there there's have has had having leaves left")

AUXILIARIES = _words(
    "is are was were am be do does did have has had can could will would shall should may might must ca wo need"
)
PRONOUNS = _words("i you he she it we they there")
BELIEF_VERBS = _words("think see know agree believe suppose find")

# Negated verbs without their apostrophe.
BARE_CONTRACTIONS = _words(
    "isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt mustnt neednt "
    "mightnt aint"
)
# After one of these, "wont" and "cant" are nouns: "as was his wont".
NOUN_OPENERS = _words("a an the his her its my our their your this that of")

# Prefix -> beginnings of the stems that it negates. These prefixes usually mean something else ("inside", "image",
# "discuss", "about").
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
# Prefix -> beginnings of the stems that it does not negate ("under", "unit", "unlock"); it negates all others.
FALSE_STEMS: dict[str, frozenset[str]] = {
    "un": _words(
        """
        anim bosom button cork couth cover ction ctuous der did dress dul earth fasten fold furl guent hook ia ib ic idi
        if ig ila ile ili ilo io ip iq isex ison it iv ix kennel knot leash load lock mask nerv pack plug ravel roll
        screw seal swath tie twist veil wind wound wrap zip
        """
    ),
    "non": _words("agen chalan conform descript etheless fiction hodgkin plus profit sense sensical stop"),
}
# Whole words for the same purpose, where a beginning would match too much ("undone", but "undoctored").
FALSE_AFFIX_WORDS = _words(
    "uncle uncles undo undoes undoing undone undoubted undoubtedly unit units unix unless unrest until unto"
)
# Stems of words in "less" that do not mean "without".
FALSE_LESS_STEMS = _words("count doubt neverthe nonethe number price reck regard relent ruth stain time top wire")

# "NO" in capitals is nitric oxide before one of these, and after one if no noun phrase follows.
_AFTER_NITRIC_OXIDE = _words(
    """
    bioavailability donor donors formation generation production release scavenger scavengers signaling signalling
    synthase synthases synthesis
    activates decreases increases induces inhibits mediates modulates represses regulates stimulates suppresses
    also can could had has is may might was will 's
    """
)
_BEFORE_NITRIC_OXIDE = _words("and by endogenous endogenously exogenous from inducible of or produced than with")
_NO_NOUN_PHRASE = re.compile(r"\W.*|and|as|at|but|by|during|for|from|in|into|on|or|than|that|through|to|via|when|with")

_SENTENCE_END = _words(". ! ? ;")
_TITLES = _words("mr mrs ms dr prof st")  # the full stop after one ends no sentence
_PARTNER_WINDOW = 40  # words between "neither" and its "nor"
_MIN_STEM = 3
_LONGEST_AFFIXED = 40  # characters; no English word is longer

_CONTRACTION = re.compile(r"[^\W\d_]+(n't)", re.IGNORECASE)
_FUSED_CANNOT = re.compile(r"cannot", re.IGNORECASE)
_LESS = re.compile(r"[a-z-]{3,}?(less)(?:ly|ness)?", re.IGNORECASE)
_PREFIX = re.compile(r"(non|dis|un|in|im|il|ir|a)(-?)([a-z-]+)", re.IGNORECASE)
_WORD = re.compile(r"\w")


def check_convention(convention: Any) -> None:
    """Raise a ValueError unless this is the name of a corpus whose cues are known, or None."""
    if convention is not None and convention not in list(NO_CUES_IN):
        known = ", ".join(map(repr, NO_CUES_IN))
        raise ValueError(f"convention is {truncate_repr(convention)}; it must be {known} or None")


def mark_candidates(words: Sequence[Word]) -> list[int]:
    """Mark the words that hold a cue of any kind: 0 or 1 a word."""
    marked, ends = [0] * len(words), [word.end for word in words]
    for start, end in (part for parts in find_cues(words) for part in parts):
        position = bisect_right(ends, start)
        while position < len(words) and words[position].start < end:
            marked[position] = 1
            position += 1
    return marked


def find_cues(words: Sequence[Word], *, affixes: bool = True, convention: str | None = None) -> list[tuple[Span, ...]]:
    """Find the negation cues of a text, in linear time.

    Args:
        words: of the text, in order, as `split_words` returns them ("is" "n't"); unsplit contractions ("isn't",
            "cannot", "dont") are recognized too.
        affixes: also find affixes ("im" in *impossible*), which CD-SCO annotates and BioScope and SFU Review do not.
        convention: `"cd-sco"`, `"bioscope"` or `"sfu"` for the cues that this corpus annotates; None for all.

    Returns:
        For each cue the character spans of its parts, one, or several of a discontinuous cue (*neither ... nor*). The
        cues are in the order of their first parts and do not overlap.

    Raises:
        ValueError: an unknown convention.
    """
    check_convention(convention)
    with_cues = PHRASES_WITH_CUES_IN.get(convention or "", set())
    false_phrases = FALSE_PHRASES, FALSE_PHRASES_IN.get(convention or "", {})
    cue_phrases = PHRASE_CUES, PHRASE_CUES_IN.get(convention or "", {})
    words = [_plain_word(word) for word in words]
    lowered = [word.text.lower() for word in words]
    ignored = NO_CUES_IN.get(convention or "", frozenset())
    found: list[tuple[Span, ...]] = []
    taken: set[int] = set()  # words that belong to an earlier "neither"
    has_nitric_oxide = "nitric" in lowered
    position = 0
    while position < len(words):
        skipped = _phrase_at(false_phrases, lowered, position)
        if skipped in with_cues or (
            skipped == ("no", "doubt") and not DOUBT_OPENERS.isdisjoint(lowered[max(0, position - 3) : position])
        ):
            skipped = ()
        phrase = skipped or _phrase_at(cue_phrases, lowered, position)
        if lowered[position] in ignored or _is_affirmed(lowered, position):
            phrase = ()
        elif phrase and not skipped:
            found.append(((words[position].start, words[position + len(phrase) - 1].end),))
        elif not phrase and position not in taken and not _is_nitric_oxide(words, position, has_nitric_oxide):
            found += _cue_at(words, lowered, position, taken, affixes)
        position += max(len(phrase), 1)
    return found


def _cue_at(
    words: Sequence[Word], lowered: list[str], position: int, taken: set[int], affixes: bool
) -> list[tuple[Span, ...]]:
    """Find the cue that begins at a word, if any; "neither" adds the positions of its "nor" to `taken`."""
    word, low = words[position], lowered[position]
    if low in SINGLE_CUES and not (affixes and low == "unable"):
        if _is_false_single(lowered, position):
            return []
        if _FUSED_CANNOT.fullmatch(word.text):
            return _part(word, len("can"), len(word.text))
        places = [position]
        if low == "neither":
            places += _partners(lowered, position)
            taken.update(places)
        return [tuple((words[place].start, words[place].end) for place in places)]
    if low in CUES_BEFORE:
        is_cue = _at(lowered, position + 1) == CUES_BEFORE[low] and _at(lowered, position - 1) != "or"
        return _part(word, 0, len(word.text)) if is_cue else []
    if low == "n't" or (
        low == "nt" and _is_bare_contraction(lowered, position - 1, position, _at(lowered, position - 1) + low)
    ):
        return [] if _is_expecting_yes(lowered, position - 1, position) else _part(word, 0, len(word.text))
    return _contraction(word, lowered, position) or (_affix(word) if affixes else [])


def _plain_word(word: Word) -> Word:
    return word._replace(text=plain(word.text))


def _part(word: Word, start: int, end: int) -> list[tuple[Span, ...]]:
    return [((word.start + start, word.start + end),)]


def _at(lowered: list[str], position: int) -> str:
    return lowered[position] if 0 <= position < len(lowered) else ""


def _phrase_at(indexes: Iterable[_Phrases], lowered: list[str], position: int) -> tuple[str, ...]:
    """Return the longest phrase of the first index that has one which begins at a position, or ``()``."""
    candidates = (it for phrases in indexes for it in phrases.get(lowered[position], ()))
    return next((it for it in candidates if tuple(lowered[position : position + len(it)]) == it), ())


def _is_false_single(lowered: list[str], position: int) -> bool:
    """Whether the cue word at a position negates nothing."""
    low, before, after = lowered[position], _at(lowered, position - 1), _at(lowered, position + 1)
    if low == "no" and after == ".":  # "No. 5", "No. of visits"
        return _at(lowered, position + 2)[:1].isdecimal() or _at(lowered, position + 2) == "of"
    if low == "not":
        ends = not _WORD.match(after)
        tag = before in PRONOUNS and _at(lowered, position - 2) in AUXILIARIES and _at(lowered, position - 3) == ","
        return ends and (tag or before in ("or", "as"))  # "did he not?", "whether or not", "as likely as not"
    if low == "nothing" and before == "for":
        return not _WORD.match(after)
    return low == "non" and not after[:1].isalpha()  # alone it is a foreign word


def _is_affirmed(lowered: list[str], position: int) -> bool:
    """Whether the word at a position is negated by one of the three before it: "cannot be denied"."""
    before = lowered[max(0, position - 3) : position]
    return lowered[position] in _AFFIRMED_IF_NEGATED and any(map(_NEGATION.fullmatch, before))


def _is_nitric_oxide(words: Sequence[Word], position: int, is_named: bool) -> bool:
    """Whether the word at a position is the molecule NO; `is_named`: whether the text names nitric oxide.

    A word in capitals beside it makes it a heading, where it is the determiner.
    """
    before, after = (words[place].text if 0 <= place < len(words) else "" for place in (position - 1, position + 1))
    if words[position].text != "NO" or after.isupper():
        return False
    is_object = before in _BEFORE_NITRIC_OXIDE and _NO_NOUN_PHRASE.fullmatch(after) is not None
    return is_named or is_object or after in _AFTER_NITRIC_OXIDE


def _is_expecting_yes(lowered: list[str], first: int, last: int) -> bool:
    """Whether a negated verb asks for agreement: "don't you think ...", "..., isn't it?".

    Args:
        lowered: the words.
        first: position of the verb.
        last: position of its "n't": the next one, or the same of an unsplit contraction.
    """
    if _at(lowered, last + 1) not in PRONOUNS or _at(lowered, first - 1) == "why":
        return False
    following = _at(lowered, last + 2)
    return following in BELIEF_VERBS or (not _WORD.match(following) and _at(lowered, first - 1) == ",")


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


def _contraction(word: Word, lowered: list[str], position: int) -> list[tuple[Span, ...]]:
    """Find the negation inside an unsplit contraction: "isn't", "dont"."""
    size, low = len(word.text), lowered[position]
    if size > _LONGEST_AFFIXED or _is_expecting_yes(lowered, position, position):
        return []
    match = _CONTRACTION.fullmatch(word.text)
    if match:
        return _part(word, match.start(1), match.end(1))
    return _part(word, size - 2, size) if _is_bare_contraction(lowered, position, position, low) else []


def _is_bare_contraction(lowered: list[str], first: int, last: int, form: str) -> bool:
    """Whether a form, such as "dont" or "do nt", is a negated verb; `first` and `last` are as above."""
    is_noun = _at(lowered, first - 1) in NOUN_OPENERS or (form == "wont" and _at(lowered, last + 1) == "to")
    return form in BARE_CONTRACTIONS and not is_noun


def affix_span(word: Word) -> Span | None:
    """The part of a word that may be a negating affix, whatever its stem: "in" of *inhuman*, "n't" of *don't*.

    Returns:
        The character span, or None for a word without such a part.
    """
    word = _plain_word(word)
    known = _contraction(word, [word.text.lower()], 0) or _affix(word)
    if known:
        return known[0][0]
    text = word.text[:_LONGEST_AFFIXED]
    fused, less, prefix = (pattern.fullmatch(text) for pattern in (_FUSED_CANNOT, _LESS, _PREFIX))
    if fused:
        return word.start + len("can"), word.end
    if less:
        return word.start + less.start(1), word.start + less.end(1)
    return (word.start, word.start + prefix.end(1)) if prefix and len(prefix[3]) >= _MIN_STEM else None


def _affix(word: Word) -> list[tuple[Span, ...]]:
    if len(word.text) > _LONGEST_AFFIXED or not word.text.isascii() or word.text.lower() in FALSE_AFFIX_WORDS:
        return []
    less = _LESS.fullmatch(word.text)
    if less and word.text[: less.start(1)].lower() not in FALSE_LESS_STEMS:
        return _part(word, less.start(1), less.end(1))
    prefix = _PREFIX.fullmatch(word.text)
    if prefix and _is_negated(prefix[1].lower(), prefix[3].lower()):
        return _part(word, 0, prefix.end(1))
    return []


def _is_negated(prefix: str, rest: str) -> bool:
    """Whether a prefix negates the rest of its word, according to the tables of stems."""
    if len(rest) < _MIN_STEM:
        return False
    stems = NEGATED_STEMS.get(prefix) or FALSE_STEMS[prefix]
    listed = any(rest[:length] in stems for length in range(1, len(rest) + 1))
    return listed == (prefix in NEGATED_STEMS)
