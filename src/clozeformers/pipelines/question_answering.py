"""`pipeline("extractive-question-answering")`: answers a question with a span of its context."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, isnan
from numbers import Real
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers.utils import PaddingStrategy

from ..question_answering.answers import AnswerCollector, WindowSlots, best_score
from ..question_answering.collator import QuestionAnsweringCollator
from ..question_answering.inputs import pair_inputs, pair_positional, question_of_input
from ..question_answering.simplification import simplify_question
from ..question_answering.windows import WindowSizes, check_window_sizes, tokenize_questions, word_spans
from ..text import truncate_repr
from .base import TextPipeline, check_count, check_flags, is_list_of_one, to_inputs

# For models whose config does not say what they were trained with.
_DEFAULT_MAX_LENGTH = 384
_DEFAULT_MAX_QUESTION_LENGTH = 64
_DEFAULT_MAX_ANSWER_LENGTH = 15
_DEFAULT_STRIDE = 128


class ExtractiveQuestionAnsweringPipeline(TextPipeline):
    """Answers questions with a span of their context.

    ```python
    >>> reader = pipeline("extractive-question-answering", model=...)
    >>> reader(question="Where is the cat?", context="The cat sits on the mat.")
    {"answer": "on the mat", "start": 13, "end": 23, "score": 0.91}
    ```

    `answer` is always `context[start:end]`. `score` is the product of the probabilities of its start and its end among
    the words of the context and the no-answer slot of its window. With `top_k` above 1, the result is a list of
    answers, best first. Works with any model of `AutoModelForQuestionAnswering` that has a fast tokenizer.

    Inputs: `question=` and `context=`, each a string or a list (a single context may serve many questions); two strings
    by position; a mapping with both; or a list, tuple, dataset, generator or other iterable of such mappings. As in the
    question answering pipeline of transformers 4, the result of a list of one input is not in a list.

    Lengths are counted in tokens of the tokenizer, words or pieces. Unless given, they are those that the model was
    trained with, as its config says (`max_answer_length`, `max_question_length`, `max_input_length`, `doc_stride`).

    Args:
        top_k: number of answers.
        max_answer_len: maximum length of an answer; 15 if the config does not say.
        max_question_len: maximum length of a question, which is truncated to it; 64, but at most half of
            `max_seq_len`, if the config does not say.
        max_seq_len: maximum length of an input of the model, reduced to what model and tokenizer allow; if the config
            does not say, as much as they allow, up to 384. A longer context is read in overlapping windows.
        doc_stride: overlap of the windows, reduced to what the other lengths allow; 128, but at most half of the room
            for the context, if the config does not say.
        align_to_words: extend an answer that begins or ends within a word of the tokenizer to the whole word; the
            default. Turn it off for languages that do not separate words by spaces.
        padding: accepted as in transformers 4, and without effect: batches are padded to their longest window.
        handle_impossible_answer: allow the answer `{"answer": "", "start": 0, "end": 0}`, that the context holds none;
            by default for models whose config has a `no_answer_threshold`, as training with unanswerable questions
            writes it.
        simplify_questions: also read an inverted or passive question in its simple form, see `simplify_question`, and
            answer the form whose answer is likelier; as the model was trained if the config says, else False.
        no_answer_threshold: margin by which the log probability of no answer must exceed that of the best answer; 0 if
            the config does not say.
        **kwargs: `on_error`, `batch_size` (in windows), `num_workers` and `progress_bar`, see `TextPipeline`.
    """

    input_format = 'question="..." and context="...", or a mapping with both'
    input_names = ("question", "context")
    training_hint = (
        "use a model that was fine-tuned for extractive question answering, or train a reader with `clozeformers train "
        "extractive-question-answering RECIPE`"
    )
    examples = (
        {"question": "Who wrote the letter?", "context": "The letter was written by Ada in 1843."},
        {"question": "Who wrote it?", "context": "Ada wrote it."},
        {"question": "When?", "context": "In the summer of 1843, says Bruno."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resolve_parameters(**self._preprocess_params)

    def _sanitize_parameters(
        self,
        *,
        top_k: int | None = None,
        max_answer_len: int | None = None,
        max_question_len: int | None = None,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        simplify_questions: bool | None = None,
        handle_impossible_answer: bool | None = None,
        no_answer_threshold: float | None = None,
        align_to_words: bool | None = None,
        padding: bool | str | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        for name, value in (("top_k", top_k), ("max_answer_len", max_answer_len)):
            if value is not None:
                check_count(name, value)
        is_number = isinstance(no_answer_threshold, Real) and not isinstance(no_answer_threshold, bool)
        if no_answer_threshold is not None and (not is_number or isnan(no_answer_threshold)):
            raise ValueError(
                f"no_answer_threshold is {truncate_repr(no_answer_threshold)}; it must be a number, such as 0 for the "
                "likelier of the two"
            )
        check_flags(
            simplify_questions=simplify_questions,
            handle_impossible_answer=handle_impossible_answer,
            align_to_words=align_to_words,
        )
        strategies = [strategy.value for strategy in PaddingStrategy]
        if padding is not None and not isinstance(padding, bool) and padding not in strategies:
            raise ValueError(f"padding is {truncate_repr(padding)}; it must be True, False or one of {strategies}")
        preprocess = {
            "max_question_len": max_question_len,
            "max_seq_len": max_seq_len,
            "doc_stride": doc_stride,
            "align_to_words": align_to_words,
            "simplify_questions": simplify_questions,
        }
        postprocess = {
            "top_k": top_k,
            "max_answer_len": max_answer_len,
            "handle_impossible_answer": handle_impossible_answer,
            "no_answer_threshold": no_answer_threshold,
        }
        return self._group_parameters(preprocess, postprocess, **kwargs)

    def _resolve_parameters(
        self,
        max_question_len: int | None = None,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        align_to_words: bool = True,
        simplify_questions: bool | None = None,
    ) -> dict[str, Any]:
        """Fill in what is not given, reduce lengths that are too large for the model, and check all."""
        config = self.model.config
        if simplify_questions is None:
            simplify_questions = bool(getattr(config, "simplify_questions", False))
        limit = self.readable_length()
        trained_length = getattr(config, "max_input_length", None)
        if max_seq_len is None:
            max_seq_len = min(limit, trained_length or _DEFAULT_MAX_LENGTH)
        elif isinstance(max_seq_len, int):
            max_seq_len = min(max_seq_len, limit)

        def check(question: int, stride: int) -> WindowSizes:
            sizes = WindowSizes(max_seq_len, question, stride)
            check_window_sizes(sizes, self.tokenizer, ("max_seq_len", "max_question_len", "doc_stride"))
            return sizes

        def default(name: str, fallback: int, at_most: int) -> int:
            trained: int | None = getattr(config, name, None)
            if trained is not None and max_seq_len == trained_length:
                return trained
            return min(trained or fallback, at_most)

        check(1, 0)  # the others are derived from the length, so it is checked first
        room = max_seq_len - self.tokenizer.num_special_tokens_to_add(pair=True)
        if max_question_len is None:
            max_question_len = default("max_question_length", _DEFAULT_MAX_QUESTION_LENGTH, room // 2)
        check(max_question_len, 0)
        if doc_stride is None:
            doc_stride = default("doc_stride", _DEFAULT_STRIDE, min(max_seq_len // 2, (room - max_question_len) // 2))
        elif isinstance(doc_stride, int):
            doc_stride = min(doc_stride, room - max_question_len - 1)
        return {
            "sizes": check(max_question_len, doc_stride),
            "align_to_words": align_to_words,
            "simplify_questions": simplify_questions,
        }

    def __call__(self, inputs: Any = None, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions, given as `inputs` or by `question` and `context`; see `TextPipeline.__call__`."""
        inputs, *others = pair_positional(inputs, *args)
        inputs = to_inputs(pair_inputs(inputs, question, context))
        if is_list_of_one(inputs):
            [inputs] = inputs
        return super().__call__(inputs, *others, **kwargs)

    def preprocess(
        self, input_: Any, sizes: WindowSizes, align_to_words: bool, simplify_questions: bool
    ) -> dict[str, Any]:
        """Tokenize one input (see `question_of_input`) in windows.

        Raises:
            TypeError, ValueError: as `question_of_input`; ValueError also if the context has no token.
        """
        question, context = question_of_input(input_)
        simple = simplify_question(question) if simplify_questions else None
        forms = [question] if simple is None else [question, simple]
        read = tokenize_questions(self.tokenizer, forms, [context] * len(forms), sizes.max_question_length)
        if not (read[0].spans >= 0).any():
            raise ValueError(
                f"the tokenizer finds no word in the context {truncate_repr(context)}; give one with words"
            )
        features, slots = [], []
        for form, tokenized in enumerate(read):
            spans = word_spans(tokenized, context) if align_to_words else tokenized.spans
            for kept in tokenized.windows(sizes.max_length, sizes.doc_stride):
                features.append({name: values[kept] for name, values in tokenized.inputs.items()})
                slots.append(WindowSlots(form, spans[kept], int(kept.searchsorted(tokenized.cls_position))))
        return {"features": features, "slots": slots, "forms": len(forms), "context": context}

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad windows on the right, whichever side the tokenizer pads: this shifts no positions."""
        return QuestionAnsweringCollator(self.tokenizer.pad_token_id or 0)(features)

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Return the logits ``[B, L, 2]`` of each position to be the start and the end of the answer."""
        output = self.model(**input_tensors)
        if "start_logits" not in output or "end_logits" not in output:
            raise TypeError(
                f"{type(self.model).__name__} gives no start and end logits; load the model with "
                "AutoModelForQuestionAnswering.from_pretrained(...)"
            )
        return torch.stack([output["start_logits"], output["end_logits"]], dim=-1).float()

    def postprocess(
        self,
        model_outputs: Mapping[str, Any],
        top_k: int = 1,
        max_answer_len: int | None = None,
        handle_impossible_answer: bool | None = None,
        no_answer_threshold: float | None = None,
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Choose the best answers over all windows."""
        trained = getattr(self.model.config, "max_answer_length", None)
        trained_threshold = getattr(self.model.config, "no_answer_threshold", None)
        if handle_impossible_answer is None:
            handle_impossible_answer = trained_threshold is not None
        if no_answer_threshold is None:
            no_answer_threshold = trained_threshold or 0.0
        collector = AnswerCollector(max_answer_len or trained or _DEFAULT_MAX_ANSWER_LENGTH, top_k)
        collector.add(model_outputs["slots"], *pad_sequence(model_outputs["logits"], batch_first=True).unbind(-1))
        read = [collector.nbest(form, model_outputs["context"]) for form in range(model_outputs["forms"])]
        found = max(read, key=lambda nbest: best_score(nbest, handle_impossible_answer))
        answers = [
            {"answer": one["text"], "start": one["start"], "end": one["end"], "score": exp(one["score"])}
            for one in found["answers"]
        ]
        if handle_impossible_answer or not answers:
            # No answer comes before the first answer that it exceeds by the threshold.
            margin = found["no_answer_score"] - no_answer_threshold
            place = sum(one["score"] >= margin for one in found["answers"])
            answers.insert(place, {"answer": "", "start": 0, "end": 0, "score": exp(found["no_answer_score"])})
        return answers[:top_k] if top_k > 1 else answers[0]
