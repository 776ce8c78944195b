"""Find English negation cues with a lexicon.

The annotation of *SEM 2012 (CD-SCO: Morante and Daelemans, "ConanDoyle-neg", LREC 2012) decides what is a cue, with the
clinical and scientific cues of BioScope (Vincze et al., 2008) added: "no one" and "no longer" hold the cue "no", an
affix is a cue of its own ("im" in *impossible*), and phrases that only look like a negation ("no doubt", "not only", a
tag question) hold none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..words import Word

Span = tuple[int, int]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> dict[str, list[tuple[str, ...]]]:
    """Parse phrases, separated by semicolons, into an index by first word, the longest phrase first."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(part.split()) for part in text.split(";")), key=len, reverse=True):
        index.setdefault(phrase[0], []).append(phrase)
    return index


SINGLE_CUES = _words(
    "not no never none nothing nobody nowhere without neither nor cannot no-one noone nope naught nought ne'er non "
    "lack lacks lacked lacking"
)

# The key alone is the cue, and only before the value.
CUES_BEFORE = {"absence": "of", "fail": "to", "fails": "to", "failed": "to", "failing": "to", "failure": "to"}

# All words of a phrase are one cue. Phrases around a single cue ("not at all", "in no way", "no longer") need no entry:
# there the single cue is annotated.
PHRASE_CUES = _phrases(
    "by no means; on the contrary; rather than; with the exception of; nothing at all; not for the world"
)

# Phrases with a cue word that negate nothing, or something without an annotated scope.
FALSE_PHRASES = _phrases(
    "no doubt; no sooner; not only; not but; not help but; nothing but; nothing short of; none other than; "
    "none the less; never the less; without more ado; without further ado; without doubt; without a doubt"
)

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
        anim bosom button cork couth cover ction ctuous der did dress dul earth fasten fold furl guent hook icef icell
        icorn icycl idirect ifi iform ify ilater ion ipol iqu ison ity ite itar itie ivers kennel knot leash load lock
        mask nerv pack plug ravel roll screw seal swath tie twist veil wind wound wrap zip
        """
    ),
    "non": _words("agen chalan conform descript etheless plus sense sensical"),
}
# Whole words for the same purpose, where a beginning would match too much ("undone", but "undoctored").
FALSE_AFFIX_WORDS = _words(
    "uncle uncles undo undoes undoing undone undoubted undoubtedly unit units unix unless unrest until unto"
)
# Stems of words in "less" that do not mean "without".
FALSE_LESS_STEMS = _words("count doubt neverthe nonethe number price reck regard relent ruth stain time top wire")

_SENTENCE_END = _words(". ! ? ;")
_TITLES = _words("mr mrs ms dr prof st")  # the full stop after one ends no sentence
_PARTNER_WINDOW = 40  # words between "neither" and its "nor"
_MIN_STEM = 3
_LONGEST_AFFIXED = 40  # characters; no English word is longer

_CONTRACTION = re.compile(r"[^\W\d_]+(n['’ʼ＇`´]t)", re.IGNORECASE)
_NEGATED_VERB = re.compile(r"n['’ʼ＇`´]t", re.IGNORECASE)
_FUSED_CANNOT = re.compile(r"cannot", re.IGNORECASE)
_LESS = re.compile(r"[a-z-]{3,}?(less)(?:ly|ness)?", re.IGNORECASE)
_PREFIX = re.compile(r"(non|dis|un|in|im|il|ir|a)(-?)([a-z-]+)", re.IGNORECASE)
_WORD = re.compile(r"\w")


def find_cues(words: Sequence[Word], *, affixes: bool = True) -> list[tuple[Span, ...]]:
    """Find the negation cues of a text, in linear time.

    Args:
        words: of the text, in order, as `split_words` returns them ("is" "n't"); unsplit contractions ("isn't",
            "cannot", "dont") are recognized too.
        affixes: also find affixes ("im" in *impossible*), which CD-SCO annotates and BioScope and SFU Review do not.

    Returns:
        For each cue the character spans of its parts: one, or several of a discontinuous cue (*neither ... nor*). The
        cues are in the order of their first parts and do not overlap.
    """
    lowered = [word.text.lower() for word in words]
    found: list[tuple[Span, ...]] = []
    taken: set[int] = set()  # words that belong to an earlier "neither"
    position = 0
    while position < len(words):
        skipped = _phrase_at(FALSE_PHRASES, lowered, position)
        if skipped == ("no", "doubt") and not DOUBT_OPENERS.isdisjoint(lowered[max(0, position - 3) : position]):
            skipped = ()
        phrase = skipped or _phrase_at(PHRASE_CUES, lowered, position)
        if phrase and not skipped:
            found.append(((words[position].start, words[position + len(phrase) - 1].end),))
        elif not phrase and position not in taken:
            found += _cue_at(words, lowered, position, taken, affixes)
        position += max(len(phrase), 1)
    return found


def _cue_at(
    words: Sequence[Word], lowered: list[str], position: int, taken: set[int], affixes: bool
) -> list[tuple[Span, ...]]:
    """Find the cue that begins at a word, if any; "neither" adds the positions of its "nor" to `taken`."""
    word, low = words[position], lowered[position]
    if low in SINGLE_CUES:
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
    if _NEGATED_VERB.fullmatch(low):
        return [] if _is_expecting_yes(lowered, position) else _part(word, 0, len(word.text))
    return _contraction(word, lowered, position) or (_affix(word) if affixes else [])


def _part(word: Word, start: int, end: int) -> list[tuple[Span, ...]]:
    return [((word.start + start, word.start + end),)]


def _at(lowered: list[str], position: int) -> str:
    return lowered[position] if 0 <= position < len(lowered) else ""


def _phrase_at(phrases: dict[str, list[tuple[str, ...]]], lowered: list[str], position: int) -> tuple[str, ...]:
    """Return the longest phrase that begins at a position, or ``()``."""
    candidates = phrases.get(lowered[position], [])
    return next((it for it in candidates if tuple(lowered[position : position + len(it)]) == it), ())


def _is_false_single(lowered: list[str], position: int) -> bool:
    """Whether the cue word at a position negates nothing."""
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


def _contraction(word: Word, lowered: list[str], position: int) -> list[tuple[Span, ...]]:
    """Find the negation inside an unsplit contraction: "isn't", "dont"."""
    size, low = len(word.text), lowered[position]
    if size > _LONGEST_AFFIXED:
        return []
    match = _CONTRACTION.fullmatch(word.text)
    if match:
        return _part(word, match.start(1), match.end(1))
    is_noun = _at(lowered, position - 1) in NOUN_OPENERS or (low == "wont" and _at(lowered, position + 1) == "to")
    return _part(word, size - 2, size) if low in BARE_CONTRACTIONS and not is_noun else []


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
