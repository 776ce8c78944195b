"""The spaCy component `clozeformers_negation` beside negspaCy: which words of a corpus are negated.

    pip install "clozeformers[spacy]" negspacy
    python benchmarks/spacy_negation.py cd-sco-dev.txt --folds bioscope sfu --model MODEL --output FILE

Each content word of a sentence is an entity: a word of letters that is neither a stop word of spaCy's nor, in the
corpus, a cue or a part of one. It is negated if it lies in the scope of an annotated cue. Both components see the same
documents: the corpus's tokens and sentences, those without a cue too. Ours finds the cues itself and follows the
convention of the corpus; negspaCy is run with two of its sets of English terms.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from datasets import Dataset
from spacy.language import Language
from spacy.tokens import Doc, Span

from clozeformers.files import write_json
from clozeformers.negation_scope import load_corpus
from clozeformers.negation_scope.corpora.schema import sentence_id
from clozeformers.negation_scope.loading import sentence_ids, strata_of
from clozeformers.training.corpora import Corpora
from clozeformers.training.results import environment

TERMSETS = ("en", "en_clinical")
NUM_FOLDS, SEED = 10, 0  # of `make models`


class Sentence(NamedTuple):
    """A sentence, the numbers of its content words, and those of them that are negated."""

    tokens: list[str]
    content: list[int]
    negated: set[int]


def read(path: str, held_out: bool) -> tuple[str, list[Sentence]]:
    """The corpus at a path: its name, and its sentences, or those of the first fold's test part."""
    rows = load_corpus(path, without_cues=True)
    if held_out:
        [rows] = Corpora(rows, None, {}).fold(1, NUM_FOLDS, SEED, sentence_ids(rows), strata_of(rows)).test.values()
    return rows[0]["corpus"], list(sentences_of(rows))


def sentences_of(rows: Dataset) -> Iterator[Sentence]:
    """Join the cues of each sentence."""
    stop_words = spacy.blank("en").Defaults.stop_words
    by_sentence: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_sentence.setdefault(sentence_id(row["id"]), []).append(row)
    for own in by_sentence.values():
        tokens = own[0]["tokens"]
        content = [
            number
            for number, token in enumerate(tokens)
            if token.isalpha() and token.lower() not in stop_words and not any(row["cue"][number] for row in own)
        ]
        yield Sentence(tokens, content, {number for number in content if any(row["scope"][number] for row in own)})


def negated_words(nlp: Language, sentences: Iterable[Sentence], extension: str) -> Iterator[set[int]]:
    """The content words of each sentence that a pipeline takes for negated."""
    docs = []
    for tokens, content, _ in sentences:
        doc = Doc(nlp.vocab, words=tokens, sent_starts=[number == 0 for number in range(len(tokens))])
        doc.ents = [Span(doc, number, number + 1, label="WORD") for number in content]
        docs.append(doc)
    for doc in nlp.pipe(docs):
        yield {entity.start for entity in doc.ents if entity._.get(extension)}


def score(predicted: Iterable[set[int]], sentences: Iterable[Sentence]) -> dict[str, float]:
    """Precision, recall and F1 in percent."""
    counts: Counter[str] = Counter()
    for found, sentence in zip(predicted, sentences, strict=True):
        counts += Counter(hits=len(found & sentence.negated), found=len(found), gold=len(sentence.negated))
    precision, recall = (100 * counts["hits"] / max(counts[whole], 1) for whole in ("found", "gold"))
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(precision + recall, 1e-9),
    }


def components(model: str | None, convention: str) -> Iterator[tuple[str, Language, str]]:
    """Name, pipeline and extension of each component."""
    import negspacy.negation  # noqa: F401  # registers "negex"
    from negspacy.termsets import termset

    for terms in TERMSETS:
        nlp = spacy.blank("en")
        nlp.add_pipe("negex", config={"neg_termset": termset(terms).get_patterns()})
        yield f"negspaCy, {terms}", nlp, "negex"
    nlp = spacy.blank("en")
    nlp.add_pipe("clozeformers_negation", config={"model": model, "convention": convention})
    yield "clozeformers", nlp, "negated"


def measure(path: str, held_out: bool, model: str | None) -> Iterator[dict[str, Any]]:
    """The rows of the table for one corpus."""
    corpus, sentences = read(path, held_out)
    sizes = {
        "words": sum(len(sentence.content) for sentence in sentences),
        "negated": sum(len(sentence.negated) for sentence in sentences),
    }
    for name, nlp, extension in components(model, corpus):
        scores = score(negated_words(nlp, sentences, extension), sentences)
        yield {"corpus": corpus, "component": name, **sizes, **scores}


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown, one row a corpus and component."""
    lines = [
        "| corpus | words | negated | component | precision | recall | F1 |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['corpus']} | {row['words']:,} | {row['negated']:,} | {row['component']} | {row['precision']:.2f} | "
        f"{row['recall']:.2f} | {row['f1']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", help="files or folders, as load_corpus reads them")
    parser.add_argument("--model", help="a folder or a name on the Hub; by default the packaged model")
    parser.add_argument("--folds", nargs="+", default=[], help="more, scored on the tenth that --folds 1 holds out")
    parser.add_argument("--output", type=Path, help="JSON file to write")
    options = parser.parse_args()
    corpora = [(path, False) for path in options.corpora] + [(path, True) for path in options.folds]
    rows = [row for path, held_out in corpora for row in measure(path, held_out, options.model)]
    print(table(rows))
    if options.output:
        recorded = environment()
        recorded["versions"] |= {name: version(name) for name in ("spacy", "negspacy")}
        write_json({"rows": rows, "environment": recorded}, options.output)


if __name__ == "__main__":
    main()
