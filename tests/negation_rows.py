"""Generated sentences with negations, as corpus rows, for trainings of seconds."""

from __future__ import annotations

import random

from clozeformers.negation_scope.corpora.schema import NegationRow

SLOTS = {
    "N": "the doctor;my sister;a tall man;our guests;the old captain;her friends;the cook;two boys",
    "W": "see;find;want;open;sell;paint;remember;lose",
    "V": "saw;found;wanted;opened;sold;painted;remembered;lost",
    "O": "the letter;a red boat;some bread;the garden;his coat;three keys;the answer;a small bird",
    "A": "kind;able;certain;usual;happy;fair",
    "Q": "quiet;hungry;late;famous;strange;lonely",
}
# A word, a slot, [a cue], {a word or slot in its scope}; un+A is a word with an affix cue.
TEMPLATES = (
    "{N} {did} [not] {W} {O} .",
    "{N} [never] {V} {O} , but N V O .",
    "[No] {Q} {man} {V} {O} .",
    "N V O , and {N} {seemed} [un]{A} .",
    "{N} {seemed} [neither] {Q} [nor] {Q} .",
    "N left [without] {O} .",
    "Although N V O , {N} {did} [not] {W} {O} because N seemed Q .",
)


def negation_rows(size: int, seed: int) -> list[NegationRow]:
    """Generate sentences with one negation each, the same for the same arguments on every machine."""
    rng = random.Random(f"negation-{seed}")
    return [_row(rng, f"{seed}-{number}") for number in range(size)]


def _row(rng: random.Random, name: str) -> NegationRow:
    tokens: list[str] = []
    cue: list[int] = []
    scope: list[int] = []
    cues: list[str] = []
    for template in rng.choice(TEMPLATES).split():
        affix, _, rest = template.rpartition("]") if template.startswith("[un]") else ("", "", template)
        inner = rest.strip("[]{}")
        words = rng.choice(SLOTS[inner].split(";")).split() if inner in SLOTS else [inner]
        is_cue = bool(affix) or rest.startswith("[")
        tokens += [affix.strip("[") + word for word in words]
        cue += [int(is_cue)] * len(words)
        scope += [int(rest.startswith("{"))] * len(words)
        cues += [affix.strip("[") or inner] * is_cue
    return NegationRow(
        id=f"generated-{name}#0",
        corpus="generated",
        kind="negation",
        tokens=tokens,
        cue=cue,
        cue_text=" ".join(cues),
        scope=scope,
    )
