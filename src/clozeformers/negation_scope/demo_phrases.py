"""The phrases of the generated corpus: subjects, verbs and the agreement between them."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from clozeformers.negation_scope.demo_words import (
    DOUBLED,
    IRREGULAR,
    NAMES,
    OWNERS,
    PRONOUNS,
    RELATIONS,
    SETTINGS,
    STATIVE,
    Setting,
)


class Subject(NamedTuple):
    """A noun phrase and the form its verb takes: ``"sg"``, ``"pl"`` or ``"I"``."""

    text: str
    number: str


class Act(NamedTuple):
    """A verb in its base form and what follows it."""

    verb: str
    rest: str


def inflect(verb: str, form: str) -> str:
    """Inflect a verb: ``"base"``, ``"third"`` (*goes*), ``"past"``, ``"participle"`` or ``"ing"``."""
    if form in ("past", "participle") and verb in IRREGULAR:
        return IRREGULAR[verb][form == "participle"]
    if form in ("base", "ing"):
        stem = verb[:-1] if verb.endswith("e") and not verb.endswith("ee") else _doubled(verb)
        return verb if form == "base" else stem + "ing"
    return _third(verb) if form == "third" else _regular_past(verb)


def _doubled(verb: str) -> str:
    return verb + verb[-1] if verb in DOUBLED else verb


def _ends_in_consonant_y(verb: str) -> bool:
    return verb.endswith("y") and verb[-2] not in "aeiou"


def _third(verb: str) -> str:
    if verb == "have":
        return "has"
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")


def _regular_past(verb: str) -> str:
    if _ends_in_consonant_y(verb):
        return verb[:-1] + "ied"
    return verb + "d" if verb.endswith("e") else _doubled(verb) + "ed"


class Phrases:
    """Phrases that agree with each other. One instance speaks about one setting in one tense."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.setting: Setting = rng.choice(SETTINGS)
        self.past = self.chance(0.55)

    def chance(self, probability: float) -> bool:
        """Draw a yes with this probability."""
        return self.rng.random() < probability

    def person(self) -> Subject:
        """Choose a person or people."""
        draw = self.rng.random()
        if draw < 0.25:
            pronoun = self.rng.choice([word for word in PRONOUNS if word != "it"])
            return Subject(pronoun, "I" if pronoun == "I" else "sg" if pronoun in ("he", "she") else "pl")
        if draw < 0.35:
            return Subject(self.rng.choice(NAMES), "sg")
        if draw < 0.55:
            return Subject(f"{self.rng.choice(NAMES)}'s {self.rng.choice(RELATIONS)}", "sg")
        if draw < 0.8:
            return Subject(self.rng.choice(self.setting.person), "sg")
        return Subject(self.rng.choice(self.setting.people), "pl")

    def thing(self) -> Subject:
        """Choose a thing or things."""
        draw = self.rng.random()
        if draw < 0.12:
            return Subject("it", "sg")
        number = "sg" if draw < 0.75 else "pl"
        text = self.rng.choice(self.setting.thing if number == "sg" else self.setting.things)
        if text.startswith("the ") and self.chance(0.3):
            owner = self.rng.choice([*OWNERS, f"{self.rng.choice(NAMES)}'s"])
            text = f"{owner} {text[4:]}"
        return Subject(text, number)

    def agent(self) -> tuple[Subject, Act]:
        """Choose someone or something with what it does."""
        if self.chance(0.65):
            return self.doer()
        verb, rests = self.rng.choice(self.setting.thing_acts)
        return self.thing(), Act(verb, self.rng.choice(rests))

    def act(self) -> Act:
        """Choose what a person does."""
        verb, rests = self.rng.choice(self.setting.acts)
        return Act(verb, self.rng.choice(rests))

    def doer(self) -> tuple[Subject, Act]:
        """Choose a person and an act that the person does not do to itself (no "I know me")."""
        subject = self.person()
        return subject, self.act_of(subject)

    def act_of(self, subject: Subject) -> Act:
        """Choose what this person does, not to itself."""
        act = self.act()
        if subject.text.split()[0] in ("I", "we"):
            act = act._replace(rest=re.sub(r"\b(me|us)\b", "them", act.rest))
        return act

    def predicate(self) -> tuple[Subject, str]:
        """Choose someone or something with an adjective."""
        if self.chance(0.5):
            return self.person(), self.rng.choice(self.setting.person_adjectives)
        return self.thing(), self.rng.choice(self.setting.thing_adjectives)

    def none_of(self, nouns: tuple[str, ...]) -> str:
        """Choose one noun or two for a place after "no"."""
        chosen = self.rng.sample(nouns, 2)
        return " or ".join(chosen) if self.chance(0.5) and " or " not in "".join(chosen) else chosen[0]

    def auxiliary(self, subject: Subject, act: Act) -> tuple[str, str]:
        """Choose an auxiliary that agrees with the subject, and the form of the verb after it."""
        third = subject.number == "sg"
        draw = self.rng.random()
        if draw < 0.5:
            return "did" if self.past else "does" if third else "do", "base"
        if draw < 0.75:
            modals = "could would should might" if self.past else "can will should must may"
            return self.rng.choice(modals.split()), "base"
        if draw < 0.92 or act.verb in STATIVE:
            return self.have(subject), "participle"
        return self.be(subject), "ing"

    def be(self, subject: Subject) -> str:
        """Put "be" into the tense and number."""
        present, past = {"sg": ("is", "was"), "pl": ("are", "were"), "I": ("am", "was")}[subject.number]
        return past if self.past else present

    def have(self, subject: Subject) -> str:
        """Put "have" into the tense and number."""
        return "had" if self.past else "has" if subject.number == "sg" else "have"

    def finite(self, subject: Subject, verb: str) -> str:
        """Put a verb into the sentence's tense."""
        return inflect(verb, "past" if self.past else "third" if subject.number == "sg" else "base")

    def does(self, subject: Subject, act: Act, *, negated: bool = False) -> str:
        """Make a predicate that holds no negation of its own."""
        auxiliary, form = self.auxiliary(subject, act)
        plain = auxiliary in ("do", "does", "did")
        verb = self.finite(subject, act.verb) if plain else f"{auxiliary} {inflect(act.verb, form)}"
        return f"{verb} {act.rest if negated else affirm(act.rest)}"

    def denied(self, auxiliary: str, n: str, *, contract: float = 0.4) -> str:
        """Make an auxiliary with its negation marked as the cue."""
        if auxiliary not in ("am", "may", "might") and self.chance(contract):
            stem = {"can": "ca", "will": "wo"}.get(auxiliary, auxiliary)
            sign = self.rng.choice(["n't"] * 8 + ["n’t"] * 4 + ["nt"] * (auxiliary not in ("had", "must")))
            return f"{stem}<{n}{sign}>{n}"
        if auxiliary == "can":
            return f"can<{n}not>{n}"
        return f"{auxiliary} <{n}not>{n}"


def affirm(rest: str) -> str:
    """Fit a complement to a clause that is not negated: "any change" is "some change" there."""
    return re.sub(r"\bany\b", "some", rest)


def mark_affix(word: str, n: str) -> str:
    """``un.happy`` and ``care.less`` with the affix marked as the cue."""
    head, tail = word.split(".")
    return f"{head}<{n}less>{n}{tail[4:]}" if tail.startswith("less") else f"<{n}{head}>{n}{tail}"
