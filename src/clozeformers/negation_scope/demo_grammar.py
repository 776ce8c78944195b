"""The grammar behind `demo_corpus`: rules that write a clause with its cue and its scope.

A sentence is a string with marks: ``[a`` and ``]a`` around a stretch of scope of the negation ``a``, ``<a`` and ``>a``
around its cue. A cue inside its scope is taken out of it when the words are made.
"""

from __future__ import annotations

from collections.abc import Callable

from clozeformers.negation_scope.demo_phrases import Phrases, Subject, affirm, inflect, mark_affix
from clozeformers.negation_scope.demo_words import (
    BARE,
    CERTAINLY,
    CLINIC,
    DECIDED,
    DISCOURSE,
    MASS,
    NAMES,
    ONLY_AFTER_NO,
    PRONOUNS,
    QUALITIES,
    SAID,
    SCIENCE,
    STATIVE,
    THOUGHT,
    TIME_CLOSERS,
    TIMES,
)


class Grammar(Phrases):
    """The rules. One instance makes one sentence, whose clauses belong together."""

    # ------------------------------------------------------------------------------------------------ clauses
    # Each takes the name of its negation and returns a marked clause that starts in lower case, without final sign.

    def verbal(self, n: str) -> str:
        """Say: she did not take the medicine."""
        subject, act = self.agent()
        auxiliary, form = self.auxiliary(subject, act)
        sure = f"]{n} {self.rng.choice(CERTAINLY)} [{n}" if self.chance(0.06) else " "
        tail = " " + self.rng.choice(TIME_CLOSERS) if auxiliary == "did" and self.chance(0.25) else ""
        denied = self.denied(auxiliary, n, contract=0.0 if sure != " " else 0.45)
        return f"[{n}{subject.text}{sure}{denied} {inflect(act.verb, form)} {act.rest}{tail}]{n}"

    def copular(self, n: str) -> str:
        """Say: the room was not clean."""
        subject, adjective = self.predicate()
        if self.chance(0.12):
            return f"[{n}{subject.text} {self.be(subject)} <{n}by no means>{n} {adjective}]{n}"
        return f"[{n}{subject.text} {self.denied(self.be(subject), n)} {adjective}]{n}"

    def never(self, n: str) -> str:
        """Say: he never smokes; she has never taken insulin; the wound no longer hurts."""
        subject, act = self.agent()
        draw = self.rng.random()
        if draw < 0.3:
            verb = inflect(act.verb, "participle")
            return f"[{n}{subject.text} {self.have(subject)} <{n}never>{n} {verb} {act.rest}]{n}"
        word = f"<{n}no>{n} longer" if draw < 0.5 else f"<{n}never>{n}"
        return f"[{n}{subject.text} {word} {self.finite(subject, act.verb)} {act.rest}]{n}"

    def existential(self, n: str) -> str:
        """Say: there is no sign of infection."""
        noun = self.none_of(self.setting.present)
        extra = self.rng.choice(ONLY_AFTER_NO) + " " if self.chance(0.15) and " " in noun else ""
        be = "was" if self.past else "is"
        if self.setting in (CLINIC, SCIENCE) and self.chance(0.2):
            be = "had been" if self.past else "has been"
        sure = f"]{n} {self.rng.choice(CERTAINLY)} [{n}" if " " not in be and self.chance(0.08) else " "
        return f"[{n}there {be}{sure}<{n}no>{n} {extra}{noun}]{n}"

    def possessive(self, n: str) -> str:
        """Say: the patient has no history of stroke."""
        subject = self.person()
        have = self.have(subject)
        tail = " " + self.rng.choice(TIME_CLOSERS) if have == "had" and self.chance(0.15) else ""
        return f"[{n}{subject.text} {have} <{n}no>{n} {self.none_of(self.setting.owned)}{tail}]{n}"

    def found(self, n: str) -> str:
        """Say: no evidence of infection was found; we saw no sign of life."""
        noun = self.none_of(self.setting.present)
        if self.setting in (CLINIC, SCIENCE) and self.chance(0.6):
            be = ["was", "had been", "could be"] if self.past else ["is", "has been", "can be"]
            seen = self.rng.choice(["found", "seen", "noted", "observed", "detected", "reported"])
            return f"<{n}no>{n} [{n}{noun} {self.rng.choice(be)} {seen}]{n}"
        subject = self.person()
        verb = self.rng.choice(["find", "see", "expect", "notice"])
        return f"[{n}{subject.text} {self.finite(subject, verb)} <{n}no>{n} {noun}]{n}"

    def nobody(self, n: str) -> str:
        """Say: nobody knew the answer; none of the patients slept well; no one can help."""
        act = self.act()
        group = self.rng.choice([text for text in self.setting.people if text.startswith(("the ", "my ", "her "))])
        noun = self.rng.choice([text[4:] for text in self.setting.person if text.startswith("the ")])
        opening, rest = self.rng.choice(
            [("nobody", ""), ("no", " one"), ("none", f" of {group}"), ("neither", f" of {group}"), ("no", f" {noun}")]
        )
        return f"<{n}{opening}>{n}[{n}{rest} {self.does(Subject('', 'sg'), act, negated=True)}]{n}"

    def nothing(self, n: str) -> str:
        """Say: I saw nothing in the kitchen; there was nothing upon the moor; the key was nowhere to be found."""
        place = self.rng.choice(self.setting.places)
        draw = self.rng.random()
        if draw < 0.25:
            return f"[{n}there {'was' if self.past else 'is'} <{n}nothing>{n} {place}]{n}"
        if draw < 0.4:
            thing = self.thing()
            found = self.rng.choice(["found", "seen"])
            return f"[{n}{thing.text} {self.be(thing)} <{n}nowhere>{n} to be {found}]{n}"
        if draw < 0.55:
            past, present = ("was wrong|happened|was new|was left", "is wrong|happens|is new|is left")
            state = self.rng.choice((past if self.past else present).split("|"))
            return f"<{n}nothing>{n} [{n}{state} {place}]{n}"
        subject = self.person()
        verb = self.rng.choice(["see", "say", "find", "hear", "buy", "eat", "notice", "do", "need"])
        said = self.finite(subject, verb)
        tail = self.rng.choice(["", f" {place}", " of interest", " at all"])
        if tail == " at all":
            return f"[{n}{subject.text} {said}]{n} <{n}nothing at all>{n}"
        return f"[{n}{subject.text} {said} <{n}nothing>{n}{tail}]{n}"

    def without(self, n: str) -> str:
        """Say: the nurse left the ward without a word."""
        if self.setting in (CLINIC, SCIENCE) and self.chance(0.5):
            subject, adjective = self.predicate()
            noun = self.rng.choice(self.setting.present)
            return f"{subject.text} {self.be(subject)} {adjective} <{n}without>{n} [{n}{noun}]{n}"
        subject, act = self.doer()
        other = self.act()
        what = self.rng.choice([f"{inflect(other.verb, 'ing')} {other.rest}", self.rng.choice(BARE)])
        return f"{subject.text} {self.finite(subject, act.verb)} {affirm(act.rest)} <{n}without>{n} [{n}{what}]{n}"

    def infinitive(self, n: str) -> str:
        """Say: she decided not to call the police."""
        subject, act = self.doer()
        return f"{subject.text} {self.rng.choice(DECIDED)} <{n}not>{n} [{n}to {act.verb} {act.rest}]{n}"

    def contrast(self, n: str) -> str:
        """Say: the room was clean but not quiet."""
        subject, first, second = self.two_predicates()
        be = self.be(subject)
        but = self.rng.choice(["but", "and", "yet"])
        word = self.rng.choice(["not", "not", "never"])
        return f"[{n}{subject.text} {be}]{n} {first} {but} <{n}{word}>{n} [{n}{second}]{n}"

    def two_predicates(self) -> tuple[Subject, str, str]:
        """Choose someone or something with two different adjectives."""
        subject, first = self.predicate()
        pool = self.setting.person_adjectives
        if first not in pool:
            pool = self.setting.thing_adjectives
        return subject, first, self.rng.choice([word for word in pool if word != first])

    def neither_nor(self, n: str) -> str:
        """Say: she neither smokes nor drinks; it was neither clean nor warm."""
        draw = self.rng.random()
        if draw < 0.45:
            subject, first, second = self.two_predicates()
            return f"[{n}{subject.text} {self.be(subject)} <{n}neither>{n} {first} <{n}nor>{n} {second}]{n}"
        if draw < 0.75:
            subject = self.person()
            (verb, rests), (other, others) = self.rng.sample(self.setting.acts, 2)
            first = f"{self.finite(subject, verb)} {self.rng.choice(rests)}"
            second = f"{self.finite(subject, other)} {self.rng.choice(others)}"
            return f"[{n}{subject.text} <{n}neither>{n} {first} <{n}nor>{n} {second}]{n}"
        first, second = self.rng.sample(self.setting.person, 2)
        rest = self.does(Subject("", "sg"), self.act(), negated=True)
        return f"<{n}neither>{n} [{n}{first} <{n}nor>{n} {second} {rest}]{n}"

    def affix(self, n: str) -> str:
        """Say: the boy was unhappy; the nurse found an unusual letter."""
        if self.chance(0.4):
            subject = self.person()
            verb = self.finite(subject, self.rng.choice(["see", "find", "mention", "notice", "expect", "describe"]))
            return f"{subject.text} {verb} {self.affixed_phrase(n)}"
        if self.chance(0.5):
            subject, word = self.person(), self.rng.choice(self.setting.person_affixed)
        else:
            subject, word = self.thing(), self.rng.choice(self.setting.thing_affixed)
        seems = self.finite(subject, self.rng.choice(["seem", "become"]))
        return f"[{n}{subject.text} {self.rng.choice([self.be(subject), seems])} {mark_affix(word, n)}]{n}"

    def affixed_phrase(self, n: str) -> str:
        """Say: an unusual letter."""
        word = self.rng.choice([word for word in self.setting.thing_affixed if " " not in word])
        noun = self.rng.choice([text[4:] for text in self.setting.thing if text.startswith("the ")])
        article = "an" if word[0] in "aeiou" else "a"
        if self.chance(0.4) or not MASS.isdisjoint(noun.split()):
            article = self.rng.choice(["the", "this", "that"])
        return f"[{n}{article} {mark_affix(word, n)} {noun}]{n}"

    def failing(self, n: str) -> str:
        """Say: the treatment failed to improve; the hotel lacked charm."""
        if self.chance(0.6):
            subject, act = self.agent()
            fail = self.finite(subject, "fail")
            return f"[{n}{subject.text} <{n}{fail}>{n} to {act.verb} {act.rest}]{n}"
        subject = self.person()
        lack = self.finite(subject, "lack")
        return f"[{n}{subject.text} <{n}{lack}>{n} {self.rng.choice(QUALITIES)}]{n}"

    def shared_subject(self, n: str) -> str:
        """Say: they opened the door but did not enter the room."""
        subject, act = self.doer()
        other = self.act_of(subject)
        but = self.rng.choice(["but", "and", "yet"])
        auxiliary, form = self.auxiliary(subject, other)
        first = f"[{n}{subject.text}]{n} {self.finite(subject, act.verb)} {affirm(act.rest)} {but}"
        return f"{first} [{n}{self.denied(auxiliary, n)} {inflect(other.verb, form)} {other.rest}]{n}"

    def relative(self, n: str) -> str:
        """Say: the patients who did not take the tablets slept well."""
        people = self.chance(0.5)
        head = self.rng.choice(self.setting.people if people else self.setting.person)
        subject = Subject("who", "pl" if people else "sg")
        if not head.startswith(("the ", "a ", "three ", "most ")):
            head, subject = ("those", Subject("who", "pl")) if people else ("someone", Subject("who", "sg"))
        inner, outer = self.act(), self.act()
        auxiliary, form = self.auxiliary(subject, inner)
        clause = f"[{n}who {self.denied(auxiliary, n)} {inflect(inner.verb, form)} {inner.rest}]{n}"
        return f"{head} {clause} {self.finite(subject, outer.verb)} {affirm(outer.rest)}"

    def positive(self) -> str:
        """Make a clause without negation."""
        if self.chance(0.3):
            subject, adjective = self.predicate()
            return f"{subject.text} {self.be(subject)} {adjective}"
        subject, act = self.agent()
        return f"{subject.text} {self.does(subject, act)}"

    def negative(self, n: str) -> str:
        """Make any of the negated clauses."""
        rules: list[tuple[Callable[[str], str], int]] = [
            (self.verbal, 26),
            (self.copular, 11),
            (self.never, 9),
            (self.existential, 9),
            (self.possessive, 7),
            (self.found, 6),
            (self.nobody, 6),
            (self.nothing, 5),
            (self.without, 5),
            (self.neither_nor, 6),
            (self.affix, 12),
            (self.failing, 4),
            (self.shared_subject, 5),
            (self.relative, 4),
            (self.infinitive, 4),
            (self.contrast, 4),
        ]
        rule = self.rng.choices([rule for rule, _ in rules], [weight for _, weight in rules])[0]
        return rule(n)

    # ------------------------------------------------------------------------------------------------ sentences

    def sentence(self) -> str:
        """Make a marked sentence with one negation or two, its first letter not yet a capital."""
        rules: list[tuple[Callable[[], str], int]] = [
            (self.alone, 28),
            (self.opened, 14),
            (self.beside_positive, 22),
            (self.reported, 10),
            (self.question, 8),
            (self.imperative, 5),
            (self.two_negations, 13),
        ]
        return self.rng.choices([rule for rule, _ in rules], [weight for _, weight in rules])[0]()

    def alone(self) -> str:
        """One negated clause, in clinical notes without its verb too."""
        if self.setting is CLINIC and self.chance(0.25):
            noun = self.none_of(self.setting.present + self.setting.owned)
            return f"<ano>a [a{noun}]a, {self.rng.choice(['and', 'but'])} {self.positive()}."
        clause = self.negative("a")
        if len(clause.split()) < 7 and self.chance(0.95):  # there are too few of them to set some aside for tests
            return self.opened() if self.chance(0.25) else self.beside_positive()
        return clause + self.full_stop()

    def opened(self) -> str:
        """Say: however, she did not come. Two days later, she did not come."""
        if self.chance(0.6):
            return f"{self.rng.choice(DISCOURSE)}, {self.negative('a')}{self.full_stop()}"
        self.past = True
        clause = self.negative("a")
        timed = any(time in clause for time in TIME_CLOSERS)
        opener = self.rng.choice(DISCOURSE if timed else TIMES)
        return f"{opener}, {clause}{self.full_stop()}"

    def full_stop(self) -> str:
        """Choose how to end a statement."""
        return "!" if self.chance(0.05) else "."

    def beside_positive(self) -> str:
        """Put a negated clause before or after a clause that its scope does not reach."""
        negated, other = self.negative("a"), self.positive()
        patterns = (
            "{n}, but {p}",
            "{p}, but {n}",
            "{p}, and {n}",
            "{n}, and {p}",
            "{n} because {p}",
            "{p} because {n}",
            "although {p}, {n}",
            "although {n}, {p}",
            "{n}, although {p}",
            "when {p}, {n}",
            "since {n}, {p}",
            "if {n}, {p}",
            "{p}, so {n}",
            "{n}, so {p}",
            "{p}; {n}",
            "{n} while {p}",
            "{n}, which was a surprise",
            "{n}, as {name} said",
            "unless {p}, {n}",
            "no doubt {p}, but {n}",
        )
        text = self.rng.choice(patterns).format(n=negated, p=other, name=self.rng.choice(NAMES))
        return text + self.full_stop()

    def reported(self) -> str:
        """Make speech, direct or indirect."""
        negated = self.negative("a")
        speaker = self.rng.choice([self.rng.choice(NAMES), "she", "he", self.rng.choice(self.setting.person)])
        verb = self.rng.choice(SAID)
        if self.chance(0.5):
            return f"{speaker} {self.rng.choice(SAID + THOUGHT)} that {negated}."
        left, right = self.rng.choice([('"', '"'), ('"', '"'), ("“", "”"), ("'", "'")])
        if self.chance(0.5):
            return f"{left}{negated},{right} {speaker} {verb}."
        return f"{speaker} {verb}: {left}{negated}.{right}"

    def question(self) -> str:
        """Ask with a negation: did you not see the light, why does the drug not work."""
        if self.chance(0.2):
            subject, rest = self.predicate()
            auxiliary = self.be(subject)
        else:
            subject, act = self.agent()
            auxiliary, form = self.auxiliary(subject, act)
            rest = f"{inflect(act.verb, form)} {act.rest}"
        why = "why " if self.chance(0.5) else ""
        if self.chance(0.4) or auxiliary in ("may", "might", "am"):
            return f"[a{why}{auxiliary} {subject.text} <anot>a {rest}]a?"
        # "Don't you believe ...?" asks for a yes and denies nothing; after "why", or of others, the clause is denied.
        why = "why " if subject.text in PRONOUNS else why
        sign = self.rng.choice(["n't", "n’t"])
        stem = {"can": "ca", "will": "wo"}.get(auxiliary, auxiliary)
        return f"[a{why}{stem}<a{sign}>a {subject.text} {rest}]a?"

    def imperative(self) -> str:
        """Say: do not open the window."""
        act = self.act()
        while act.verb in STATIVE:
            act = self.act()
        opening = self.rng.choice(["do <anot>a", "do<an't>a", "do<an’t>a", "<anever>a"])
        please = "please " if self.chance(0.25) and "never" not in opening else ""
        text = f"{please}[a{opening} {act.verb} {act.rest}]a"
        if self.chance(0.75):
            text += f" {self.rng.choice(['because', 'if', 'when'])} {self.positive()}"
        else:
            text += f", {self.rng.choice(NAMES)}"
        return text + self.full_stop()

    def two_negations(self) -> str:
        """Make two negations, each with its own scope."""
        if self.chance(0.15):
            return f"<ano>a, {self.negative('b')}{self.full_stop()}"
        if self.chance(0.15):
            subject, act = self.doer()
            auxiliary, form = self.auxiliary(subject, act)
            inverted = f"<bnor>b [b{auxiliary} {subject.text} {inflect(act.verb, form)} {act.rest}]b"
            return f"{self.verbal('a')}, {inverted}{self.full_stop()}"
        if self.chance(0.2):
            subject = self.person()
            verb = self.rng.choice(["see", "find", "mention", "notice", "expect", "like"])
            denied = self.denied("did", "a")
            return f"[a{subject.text} {denied} {verb} {self.affixed_phrase('b')}]a{self.full_stop()}"
        pattern = self.rng.choice(
            ["{}, and {}", "{}, but {}", "{} because {}", "although {}, {}", "{}; {}", "{}, so {}"]
        )
        return pattern.format(self.negative("a"), self.negative("b")) + self.full_stop()
