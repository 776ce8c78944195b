"""`pipeline("negation-scope")`: finds negation cues in raw text and the spans that they negate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from ..modeling.configuration_negation_scope import NUM_CUE_LABELS
from ..modeling.positions import max_tokens
from ..negation_scope.collator import NegationCollator
from ..negation_scope.cue_labels import cues_of_windows
from ..negation_scope.cues import Span, check_convention, has_affixes, mark_candidates
from ..negation_scope.inputs import CueDetector, CueInSentence, cues_of_text, read_input
from ..negation_scope.windows import EncodedWindow, encode_cues, word_probabilities
from ..text import truncate_repr
from ..words import Word
from .base import TextPipeline, check_flags
from .checkpoints import class_name

_FALLBACK_MAX_LENGTH = 512
_LEXICON = "lexicon"


class NegationScopePipeline(TextPipeline):
    """Finds negation cues and their scopes.

    ```python
    >>> negation = pipeline("negation-scope", model=...)
    >>> negation("I do not know the answer.")
    [{"cue": {"text": "not", "start": 5, "end": 8},
      "scope": [{"text": "I do", "start": 0, "end": 4}, {"text": "know the answer", "start": 9, "end": 24}],
      "score": 0.97}]
    ```

    Each `text` is `input[start:end]`. The parts of a discontinuous cue (*neither ... nor*) are listed under `"parts"`
    of `"cue"`, which itself spans all of them. `score` is the mean probability of the words in the scope or, if it is
    empty, that of all words to be outside of it. The result lists the cues in the order of the text.

    Inputs: a string, or a mapping with `text` or `tokens` and optionally `cues` (words, character spans or token
    indices); or a list, tuple, array, pandas Series, dataset, generator or other iterable of these. A text may have
    several sentences; each cue is read with its own. Without `cues`, the cues are those that `cue_detector` finds, or
    those that the model finds if it has learnt cues, or else those of an English lexicon (also under the
    `lexicon_conventions` of the model's config).

    Args:
        affixes: find affix cues (*im*possible), too; by default, unless the convention or the model has none.
        convention: `"cd-sco"`, `"bioscope"` or `"sfu"`, for the cues that this corpus annotates; by default that of the
            model if it was trained on one corpus. Otherwise None: scopes follow the model's first corpus, and the cues
            are all those of the lexicon, unless the model finds the cues of that corpus itself.
        cue_detector: finds the cues in place of model or lexicon: maps a text to mappings with `start` and `end`, as
            `pipeline("token-classification", aggregation_strategy="simple", ...)` does. `"lexicon"` finds all cues of
            the lexicon, whatever the convention: `convention="bioscope"` then decides about scopes only.
        return_words: add `"words"` to each result: all words, with their spans and probabilities to be in scope.
        **kwargs: `on_error`, `batch_size` (in cues), `num_workers` and `progress_bar`, see `TextPipeline`.
    """

    input_format = 'a string or a mapping with "text" or "tokens"'
    training_hint = (
        "fine-tune one with `clozeformers train negation-scope RECIPE`, which starts from any of the supported encoders"
    )
    examples = (
        {"tokens": ["I", "do", "not", "know", "the", "answer", "."], "cues": [2]},
        {"tokens": ["It", "was", "never", "found", "."], "cues": [2]},
        {"tokens": ["No", "one", "came", "."], "cues": [0]},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not hasattr(self.model.config, "max_cue_length"):
            raise ValueError(
                f"{class_name(self.model)} is not a negation scope model: it takes no cue; {self.training_hint}"
            )
        self.max_length = int(min(self.tokenizer.model_max_length, max_tokens(self.model) or _FALLBACK_MAX_LENGTH))

    def _sanitize_parameters(
        self,
        affixes: bool | None = None,
        convention: str | None = None,
        cue_detector: CueDetector | str | None = None,
        return_words: bool | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        check_flags(affixes=affixes, return_words=return_words)
        check_convention(convention)
        if isinstance(cue_detector, str) and cue_detector != _LEXICON:
            raise ValueError(f"cue_detector is {truncate_repr(cue_detector)}; it must be {_LEXICON!r} or a function")
        preprocess = {"affixes": affixes, "convention": convention, "cue_detector": cue_detector}
        return self._group_parameters(preprocess, {"return_words": return_words}, **kwargs)

    def _resolve_parameters(self, **parameters: Any) -> dict[str, Any]:
        config = self.model.config
        if len(config.conventions or ()) == 1:
            parameters = {"convention": config.conventions[0]} | parameters
        defaults: dict[str, Any] = {"affixes": has_affixes(parameters.get("convention"), config)}
        if config.kind == "speculation" and not config.finds_cues:
            defaults["cue_detector"] = _refuse_to_find_cues
        return defaults | parameters

    def preprocess(
        self,
        input_: Any,
        affixes: bool = True,
        convention: str | None = None,
        cue_detector: CueDetector | str | None = None,
    ) -> dict[str, Any]:
        """Find the cues of one input (see `cues_of_text`) and encode the windows of their sentences.

        If it takes the model to find them, the sentences are encoded for that, and `_complete` does the rest.
        """
        given = read_input(input_)
        if given.cues is not None or cue_detector is not None or not self.model.config.finds_cues_under(convention):
            convention_of_cues = convention
            if isinstance(cue_detector, str):  # all of the lexicon
                if given.cues is None and self.model.config.kind == "speculation":
                    _refuse_to_find_cues(given.text)
                convention_of_cues = cue_detector = None
            cues = cues_of_text(given, self.max_length, affixes, convention_of_cues, cue_detector)
            return self._encode_scopes(cues, convention)
        windows = self._encode(given.sentences, None, convention)
        return {"given": given, "sentences": windows, "affixes": affixes, "convention": convention}

    def _encode_scopes(self, cues: list[CueInSentence], convention: str | None) -> dict[str, Any]:
        windows = self._encode([cue.words for cue in cues], [cue.cue_words for cue in cues], convention)
        features = [{"input_ids": window.input_ids, "cue_mask": window.cue_mask} for window in windows]
        return {"features": features, "cues": cues, "windows": windows}

    def _encode(
        self, sentences: Sequence[Sequence[Word]], cues: list[list[int]] | None, convention: str | None
    ) -> list[EncodedWindow]:
        """Encode sentences, each with a cue to read its scope, or all without to find their cues."""
        config, conventions, finds_cues = self.model.config, [convention] * len(sentences), cues is None
        return encode_cues(
            self.tokenizer,
            [[word.text for word in sentence] for sentence in sentences],
            cues,
            max_length=self.max_length,
            mark_tokens=config.mark_tokens(conventions, finds_cues),
            marked=[mark_candidates(each) for each in sentences] if config.marks_candidates(finds_cues) else None,
            start_tokens=config.start_tokens(conventions, finds_cues),
            max_cue_length=config.max_cue_length,
            overlapping=True,
        )

    def _complete(self, examples: list[dict[str, Any]], batch_size: int) -> None:
        """Let the model find the cues of the inputs that have none, and encode the windows of their sentences."""
        waiting = [example for example in examples if "given" in example]
        rows = [
            {"input_ids": window.input_ids, "cue_mask": window.cue_mask, "finds_cues": True}
            for example in waiting
            for window in example["sentences"]
        ]
        outputs = self._predict(rows, batch_size)
        for example in waiting:
            own = [(window, next(outputs)) for window in example["sentences"]]
            labels = (
                (window.example, window.word_ids, output[:, :NUM_CUE_LABELS].softmax(-1).numpy())
                for window, output in own
            )
            sentences = example["given"].sentences
            cues = cues_of_windows(sentences, labels, [example["affixes"]] * len(sentences))
            found = example["given"].cues_in_sentences(chain.from_iterable(cues), self.max_length)
            example.update(self._encode_scopes(found, example["convention"]))
            if self.model.config.cue_token is None:
                # The encoding that the cues were found in is that of the scopes, unless the sentence was cut.
                states = {tuple(window.input_ids): output[:, NUM_CUE_LABELS:] for window, output in own}
                for feature in example["features"]:
                    if tuple(feature["input_ids"]) in states:
                        feature["hidden_states"] = states[tuple(feature["input_ids"])]

    def _batch_key(self, features: Mapping[str, Any]) -> tuple[int, int]:
        kind = 2 if "finds_cues" in features else 1 if "hidden_states" in features else 0
        return kind, len(features["input_ids"])

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad windows to a batch."""
        batch = NegationCollator(self.tokenizer.pad_token_id)(features)
        if "finds_cues" in features[0]:
            del batch["cue_mask"]
        elif "hidden_states" in features[0]:
            del batch["input_ids"]
            batch["hidden_states"] = pad_sequence([each["hidden_states"] for each in features], batch_first=True)
        return batch

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Return the logits ``[B, L, 2]`` of each piece to be out of scope and in scope.

        Without a mask of cues, those of the cue labels ``[B, L, 4]``, with the encoding ``[B, L, 4 + D]`` if scopes are
        read from it too.
        """
        if "hidden_states" in input_tensors:
            states = input_tensors.pop("hidden_states").to(self.model.dtype)
            return self.model.read_scopes(states, **input_tensors)[0].float()
        if "cue_mask" in input_tensors:
            logits: torch.Tensor = self.model(**input_tensors).logits
            return logits.float()
        labels, states = self.model.find_cues(**input_tensors)
        return (torch.cat([labels, states], dim=-1) if self.model.config.cue_token is None else labels).float()

    def postprocess(self, model_outputs: Mapping[str, Any], return_words: bool = False) -> list[dict[str, Any]]:
        """Describe each cue: its span, the spans of its scope, and the score."""
        cues = model_outputs["cues"]
        word_ids: list[list[list[int]]] = [[] for _ in cues]
        pieces: list[list[list[float]]] = [[] for _ in cues]
        for window, logits in zip(model_outputs["windows"], model_outputs["logits"], strict=True):
            word_ids[window.example].append(window.word_ids)
            pieces[window.example].append(logits.softmax(dim=-1)[:, 1].tolist())
        return [
            describe(cue, word_probabilities(len(cue.words), *own), return_words)
            for cue, own in zip(cues, zip(word_ids, pieces, strict=True), strict=True)
        ]


def _refuse_to_find_cues(text: str) -> Any:
    raise ValueError(
        'this model reads cues of speculation, which the lexicon does not have; give "cues" with the text, or '
        "a cue_detector"
    )


def describe(cue: CueInSentence, probabilities: Sequence[float], return_words: bool = False) -> dict[str, Any]:
    """Turn word probabilities into the pipeline's result for a cue.

    Args:
        cue: the cue in its sentence.
        probabilities: that of each word of the sentence to be in scope.
        return_words: list all words with their probabilities.
    """
    in_scope = [value > 0.5 for value in probabilities]
    scores = [value for value in probabilities if value > 0.5] or [1 - value for value in probabilities]
    described: dict[str, Any] = {
        "cue": _describe_span(cue.text, (cue.parts[0][0], cue.parts[-1][1])),
        "scope": [_describe_span(cue.text, span) for span in scope_spans(cue, in_scope)],
        "score": sum(scores) / max(len(scores), 1),
    }
    if len(cue.parts) > 1:
        described["cue"]["parts"] = [_describe_span(cue.text, part) for part in cue.parts]
    if return_words:
        described["words"] = [
            _describe_span(cue.text, (word.start, word.end)) | {"probability": value}
            for word, value in zip(cue.words, probabilities, strict=True)
        ]
    return described


def _describe_span(text: str, span: Span) -> dict[str, Any]:
    return {"text": text[span[0] : span[1]], "start": span[0], "end": span[1]}


def scope_spans(cue: CueInSentence, in_scope: Sequence[bool]) -> list[Span]:
    """Return the character spans of a scope, adjacent words joined, without the characters of the cue."""
    segments = []
    for word, inside in zip(cue.words, in_scope, strict=True):
        edges = [edge for part in cue.parts for edge in part if word.start < edge < word.end]
        for start, end in pairwise(sorted({word.start, *edges, word.end})):
            is_cue = any(first <= start < last for first, last in cue.parts)
            segments.append((start, end, inside and not is_cue))
    groups = [(inside, list(group)) for inside, group in groupby(segments, key=lambda segment: segment[2])]
    return [(group[0][0], group[-1][1]) for inside, group in groups if inside]
