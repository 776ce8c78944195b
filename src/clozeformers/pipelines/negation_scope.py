"""`pipeline("negation-scope")`: from raw text to negation cues and the spans they negate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from os import PathLike
from typing import Any, Literal, NamedTuple

import torch
from transformers import Pipeline

from ..negation_scope.collator import NegationCollator
from ..negation_scope.inputs import CueDetector, CueInSentence, Span, cues_of_input
from ..negation_scope.windows import Reading, read_cues, require_fast, word_probabilities
from .streaming import Unreadable, is_single, prepared_chunks

_FALLBACK_MAX_LENGTH = 512


class CueToRead(NamedTuple):
    """A cue in its sentence, and the windows that the model reads it in."""

    cue: CueInSentence
    readings: list[Reading]


class NegationScopePipeline(Pipeline):
    """Finds negation cues and their scopes.

    ```python
    >>> negation = pipeline("negation-scope", model=...)
    >>> negation("I do not know the answer.")
    [{"cue": {"text": "not", "start": 5, "end": 8},
      "scope": [{"text": "I do", "start": 0, "end": 4}, {"text": "know the answer", "start": 9, "end": 24}],
      "score": 0.97}]
    ```

    Every `text` is `input[start:end]`, whatever the white space. The parts of a cue in several parts (*neither ...
    nor*) are listed under `"parts"` of `"cue"`, whose own span runs from the first to the last. `score` is the mean
    probability of the words in the scope or, where it is empty, of all words to be out of it.

    Inputs: a string; a mapping with `text` or `tokens` and, if known, `cues` (words, character spans or token numbers);
    a list of these (a list of results comes back); a dataset, generator or other iterable (results are yielded one by
    one). A text may have many sentences; each cue is read with its own. Without `cues`, a lexicon of English cues finds
    them, or `cue_detector` does.

    Args:
        affixes: find affix cues (*im*possible) too; turn it off for models trained on BioScope or SFU Review.
        cue_detector: from a text to mappings with `start` and `end`, in place of the lexicon; such as
            `pipeline("token-classification", aggregation_strategy="simple", ...)`.
        return_words: add `"words"` to each result: every word with its span and probability of being in scope.
        on_error: `"raise"`, or `"skip"`: an input that cannot be read gives `{"error": "..."}` and the others their
            results.
        batch_size: cues in a forward pass; like lengths are put together.
        progress_bar: show one, over inputs.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require_fast(self.tokenizer)
        if not hasattr(self.model.config, "max_cue_length"):
            raise ValueError(
                f"{type(self.model).__name__} is no negation scope model: it takes no cue. Fine-tune one with "
                "run_glue_style/run_negation_scope.py, which starts from any of the supported encoders."
            )
        self.max_length = self._window()

    def _window(self) -> int:
        """Pieces that the tokenizer and the encoder both allow."""
        limits = [self.tokenizer.model_max_length, self.model.config.max_pieces or _FALLBACK_MAX_LENGTH]
        return int(min(limits))

    def _sanitize_parameters(
        self,
        affixes: bool | None = None,
        cue_detector: CueDetector | None = None,
        return_words: bool | None = None,
        on_error: Literal["raise", "skip"] | None = None,
        progress_bar: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if on_error not in (None, "raise", "skip"):
            raise ValueError(f'on_error is "raise" or "skip", not {on_error!r}')
        reading = {"affixes": affixes, "cue_detector": cue_detector}
        writing = {"return_words": return_words}
        flow = {"on_error": on_error, "progress_bar": progress_bar}
        return tuple({k: v for k, v in part.items() if v is not None} for part in (reading, flow, writing))  # type: ignore[return-value]

    def __call__(self, inputs: Any, *args: Any, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Find cues and scopes.

        Args:
            inputs: as described at the class.
            *args: none are taken.
            batch_size: in place of the pipeline's own.
            **kwargs: the parameters of the class, for this call.

        Returns:
            For one input, a list with one mapping a cue, in the order of the text; for a list, a list of these; for any
            other iterable, an iterator over them.

        Raises:
            TypeError, ValueError: for an input that cannot be read, unless `on_error="skip"`.
        """
        if args:
            raise TypeError(f"the pipeline takes one input, or a list of them; besides it got {args!r:.80}")
        given = self._sanitize_parameters(**kwargs)
        own = (self._preprocess_params, self._forward_params, self._postprocess_params)
        reading, flow, writing = ({**ours, **theirs} for ours, theirs in zip(own, given, strict=True))
        size = batch_size if batch_size is not None else self._batch_size or 1
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"batch_size is {size!r}; it must be a whole number of at least 1")
        if hasattr(inputs, "columns") and hasattr(inputs, "to_dict"):
            raise TypeError('a data frame is no input; give its rows, frame.to_dict("records"), or a column of texts')
        results = self._results(inputs, size, reading, writing, **flow)
        if is_single(inputs):
            return next(results)
        return list(results) if isinstance(inputs, (list, tuple)) else results

    def _results(
        self,
        inputs: Any,
        batch_size: int,
        reading: Mapping[str, Any],
        writing: Mapping[str, Any],
        *,
        on_error: str = "raise",
        progress_bar: bool = False,
    ) -> Iterator[Any]:
        prepare = partial(self.preprocess, **reading)
        for chunk in prepared_chunks(inputs, prepare, batch_size, on_error, progress_bar):
            cues = [cue for found in chunk if not isinstance(found, Unreadable) for cue in found]
            written = iter(self.postprocess(self._read(cues, batch_size), **writing))
            for found in chunk:
                yield {"error": found.error} if isinstance(found, Unreadable) else list(islice(written, len(found)))

    def save_pretrained(self, save_directory: str | PathLike[str], **kwargs: Any) -> None:
        """Save model and tokenizer; the base class would try to copy this module, whose imports it cannot follow."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)

    def preprocess(self, input_: Any, affixes: bool = True, cue_detector: CueDetector | None = None) -> list[CueToRead]:
        """Find the cues of one input, each with its sentence (see `cues_of_input`), and the windows it is read in.

        Raises:
            TypeError, ValueError: as `cues_of_input`.
        """
        cues = cues_of_input(input_, self.max_length, affixes, cue_detector)
        readings = read_cues(
            self.tokenizer,
            [[word.text for word in cue.words] for cue in cues],
            [cue.cue_words for cue in cues],
            max_length=self.max_length,
            cue_token=self.model.config.cue_token,
            max_cue_length=self.model.config.max_cue_length,
            overlapping=True,
        )
        windows: list[list[Reading]] = [[] for _ in cues]
        for reading in readings:
            windows[reading.example].append(reading)
        return [CueToRead(*pair) for pair in zip(cues, windows, strict=True)]

    def _read(self, cues: Sequence[CueToRead], batch_size: int) -> list[tuple[CueInSentence, list[float]]]:
        """Probability of each word of each cue's sentence to be in scope."""
        windows = [(number, reading) for number, cue in enumerate(cues) for reading in cue.readings]
        windows.sort(key=lambda window: len(window[1].input_ids))
        collate = NegationCollator(self.tokenizer.pad_token_id)
        pieces: list[list[list[float]]] = [[] for _ in cues]
        word_ids: list[list[list[int]]] = [[] for _ in cues]
        for start in range(0, len(windows), batch_size):
            batch = windows[start : start + batch_size]
            probabilities = self.forward(collate([_features(reading) for _, reading in batch]))
            for (number, reading), row in zip(batch, probabilities.tolist(), strict=True):
                pieces[number].append(row[: len(reading.input_ids)])
                word_ids[number].append(reading.word_ids)
        return [
            (cue.cue, word_probabilities(len(cue.cue.words), word_ids[number], pieces[number]))
            for number, cue in enumerate(cues)
        ]

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Probability of each word piece to be in scope, ``[B, L]``."""
        logits: torch.Tensor = self.model(**input_tensors).logits
        return logits.float().softmax(dim=-1)[..., 1]

    def postprocess(
        self, model_outputs: Sequence[tuple[CueInSentence, list[float]]], return_words: bool = False
    ) -> list[dict[str, Any]]:
        """Describe each cue: its span, the spans of its scope, and the score."""
        return [describe(cue, probabilities, return_words) for cue, probabilities in model_outputs]


def describe(cue: CueInSentence, probabilities: Sequence[float], return_words: bool = False) -> dict[str, Any]:
    """Turn word probabilities into what the pipeline returns for a cue.

    Args:
        cue: the cue in its sentence.
        probabilities: one a word of the sentence.
        return_words: list every word with its probability.
    """
    in_scope = [value > 0.5 for value in probabilities]
    chosen = [value for value, inside in zip(probabilities, in_scope, strict=True) if inside]
    certainties = chosen or [1 - value for value in probabilities]
    described: dict[str, Any] = {
        "cue": _described(cue.text, (cue.parts[0][0], cue.parts[-1][1])),
        "scope": [_described(cue.text, span) for span in scope_spans(cue, in_scope)],
        "score": sum(certainties) / max(len(certainties), 1),
    }
    if len(cue.parts) > 1:
        described["cue"]["parts"] = [_described(cue.text, part) for part in cue.parts]
    if return_words:
        described["words"] = [
            _described(cue.text, (word.start, word.end)) | {"probability": value}
            for word, value in zip(cue.words, probabilities, strict=True)
        ]
    return described


def _described(text: str, span: Span) -> dict[str, Any]:
    return {"text": text[span[0] : span[1]], "start": span[0], "end": span[1]}


def scope_spans(cue: CueInSentence, in_scope: Sequence[bool]) -> list[Span]:
    """Character spans of a scope: neighbouring words in one span, the cue's own characters never in any."""
    spans: list[Span] = []
    joined = False
    for word, inside in zip(cue.words, in_scope, strict=True):
        for start, end, is_cue in _without_cue((word.start, word.end), cue.parts):
            if is_cue or not inside:
                joined = False
            elif joined:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
                joined = True
    return spans


def _without_cue(word: Span, parts: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """Cut a word where the cue's parts begin and end; the last entry says whether the piece is the cue's."""
    position, stop = word
    for start, end in parts:
        first, last = max(start, position), min(end, stop)
        if first < last:
            if position < first:
                yield position, first, False
            yield first, last, True
            position = last
    if position < stop:
        yield position, stop, False


def _features(reading: Reading) -> dict[str, list[int]]:
    return {"input_ids": reading.input_ids, "cue_mask": reading.cue_mask}
