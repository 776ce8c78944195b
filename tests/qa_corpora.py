"""Small SQuAD files and word vectors that the tests of question answering make."""

from __future__ import annotations

import json
import random
from pathlib import Path

PEOPLE = ["Ada", "Bruno", "Clara", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas"]
THINGS = ["letter", "poem", "song", "report", "novel", "map", "engine", "theorem", "recipe", "portrait"]
VERBS = ["wrote", "found", "sold", "kept", "lost"]
FILLERS = ["It rained that day.", "Nobody knows why.", "The town was quiet, as it often is in spring."]


def write_squad(path: Path, questions: int, seed: int, unanswerable: float = 0.0) -> Path:
    """Write paragraphs in which people do things to things, with a question about each."""
    generator = random.Random(seed)
    articles = []
    for number in range(-(-questions // 4)):
        paragraphs = []
        for part in range(2):
            first, second = generator.sample(PEOPLE, 2)
            thing, other = generator.sample(THINGS, 2)
            verb = generator.choice(VERBS)
            context = f"{first} {verb} the {thing}. {generator.choice(FILLERS)} {second} {verb} the {other}."
            asked = [(f"Who {verb} the {thing}?", first), (f"What was it that {second} {verb}?", f"the {other}")]
            qas = []
            for which, (question, answer) in enumerate(asked):
                none = generator.random() < unanswerable
                answers = [] if none else [{"text": answer, "answer_start": context.rindex(answer)}]
                identity = f"{seed}-{number}-{part}-{which}"
                shown = f"Who burned the {thing}?" if none else question
                qas.append({"id": identity, "question": shown, "answers": answers, "is_impossible": none})
            paragraphs.append({"context": context, "qas": qas})
        articles.append({"title": f"article {number}", "paragraphs": paragraphs})
    path.write_text(json.dumps({"version": "test", "data": articles}))
    return path


def write_vectors(path: Path, size: int = 6) -> Path:
    """Write random vectors of all words that `write_squad` uses, as GloVe does."""
    generator = random.Random(0)
    others = "Who What was it that the . ? , It rained day Nobody knows why The town quiet"
    words = [*PEOPLE, *THINGS, *VERBS, *others.split()]
    words += [word.lower() for word in words if word.lower() not in words]
    lines = (" ".join([word, *(f"{generator.gauss(0, 0.5):.4f}" for _ in range(size))]) for word in words)
    path.write_text("\n".join(lines) + "\n")
    return path
