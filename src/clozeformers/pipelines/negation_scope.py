"""`pipeline("negation-scope")`: finds negation cues in raw text and the spans that they negate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import torch

from ..negation_scope.collator import NegationCollator
from ..negation_scope.cues import Span, check_convention
from ..negation_scope.inputs import CueDetector, CueInSentence, cues_of_input
from ..negation_scope.windows import encode_cues, word_probabilities
from .base import TextPipeline, check_flags

_FALLBACK_MAX_LENGTH = 512


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
    several sentences; each cue is read with its own. Without `cues`, the cues are those of an English lexicon or those
    that `cue_detector` finds.

    Args:
        affixes: find affix cues (*im*possible), too; by default, unless the model was trained without.
        convention: `"cd-sco"`, `"bioscope"` or `"sfu"`, for the cues that this corpus annotates; by default that of the
            model if it was trained on one corpus, otherwise None, for all cues of the lexicon.
        cue_detector: replaces the lexicon: maps a text to mappings with `start` and `end`, as
            `pipeline("token-classification", aggregation_strategy="simple", ...)` does.
        return_words: add `"words"` to each result: all words, with their spans and probabilities to be in scope.
        **kwargs: `on_error`, `batch_size` (in cues), `num_workers` and `progress_bar`, see `TextPipeline`.
    """

    input_format = 'a string or a mapping with "text" or "tokens"'
    training_hint = (
        "fine-tune one with run_glue_style/run_negation_scope.py, which starts from any of the supported encoders"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not hasattr(self.model.config, "max_cue_length"):
            raise ValueError(
                f"{type(self.model).__name__} is not a negation scope model: it takes no cue; {self.training_hint}"
            )
        self.max_length = int(
            min(self.tokenizer.model_max_length, self.model.config.max_pieces or _FALLBACK_MAX_LENGTH)
        )

    def _sanitize_parameters(
        self,
        affixes: bool | None = None,
        convention: str | None = None,
        cue_detector: CueDetector | None = None,
        return_words: bool | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        check_flags(affixes=affixes, return_words=return_words)
        check_convention(convention)
        preprocess = {"affixes": affixes, "convention": convention, "cue_detector": cue_detector}
        return self._group_parameters(preprocess, {"return_words": return_words}, **kwargs)

    def _resolve_parameters(self, **parameters: Any) -> dict[str, Any]:
        config = self.model.config
        defaults: dict[str, Any] = {"affixes": config.affixes is not False}
        if len(config.conventions or ()) == 1:
            [defaults["convention"]] = config.conventions
        if config.kind == "speculation":
            defaults["cue_detector"] = _refuse_to_find_cues
        return defaults | parameters

    def preprocess(
        self,
        input_: Any,
        affixes: bool = True,
        convention: str | None = None,
        cue_detector: CueDetector | None = None,
    ) -> dict[str, Any]:
        """Find the cues of one input (see `cues_of_input`) and encode the windows of their sentences."""
        cues = cues_of_input(input_, self.max_length, affixes, convention, cue_detector)
        windows = encode_cues(
            self.tokenizer,
            [[word.text for word in cue.words] for cue in cues],
            [cue.cue_words for cue in cues],
            max_length=self.max_length,
            cue_tokens=self.model.config.cue_tokens([convention] * len(cues)),
            max_cue_length=self.model.config.max_cue_length,
            overlapping=True,
        )
        features = [{"input_ids": window.input_ids, "cue_mask": window.cue_mask} for window in windows]
        return {"features": features, "cues": cues, "windows": windows}

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad windows to a batch."""
        return NegationCollator(self.tokenizer.pad_token_id)(features)

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Return the logits ``[B, L, 2]`` of each piece to be out of scope and in scope."""
        logits: torch.Tensor = self.model(**input_tensors).logits
        return logits.float()

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
