"""`pipeline("extractive-question-answering")`: from a question and a context to the answer in its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import exp, isnan
from os import PathLike
from typing import Any, Literal, NamedTuple

import torch
from transformers import Pipeline

from ..negation_scope.windows import require_fast
from ..question_answering.answers import NBEST_SIZE, AnswerCollector, NBest, WindowSlots
from ..question_answering.collator import QuestionAnsweringCollator
from ..question_answering.inputs import QuestionInContext, paired_inputs, question_of_input
from ..question_answering.windows import WindowSizes, check_window_sizes, tokenise_questions
from .limits import check_count, readable_length
from .streaming import Unreadable, is_single, prepared_chunks

_DEFAULT_MAX_LENGTH = 384
_DEFAULT_MAX_QUESTION_LENGTH = 64
_DEFAULT_STRIDE = 128


class Window(NamedTuple):
    """One window as the model reads it, and where answers may stand in it."""

    inputs: dict[str, Any]
    slots: WindowSlots


class QuestionToRead(NamedTuple):
    """A question, and the windows of its context; their slots bear no number of the question yet."""

    asked: QuestionInContext
    windows: list[Window]


class ExtractiveQuestionAnsweringPipeline(Pipeline):
    """Answers questions with a span of their context.

    ```python
    >>> reader = pipeline("extractive-question-answering", model=...)
    >>> reader(question="Where is the cat?", context="The cat sits on the mat.")
    {"answer": "on the mat", "start": 13, "end": 23, "score": 0.91}
    ```

    `answer` is always `context[start:end]`. `score` is the probability of its start times that of its end, both shared
    out among the context's words and the no-answer slot of the window that was read. Any model of
    `AutoModelForQuestionAnswering` with a fast tokenizer will do.

    Inputs: `question=` and `context=`, each a string or a list (one context may serve many questions); a mapping with
    both; a list of mappings (a list of results comes back); a dataset, generator or other iterable of them (results are
    yielded one by one).

    Args:
        top_k: most answers to a question; with more than 1, each result is a list, best first.
        max_answer_len: most of the tokenizer's words or pieces in an answer.
        max_question_len: most of a question; of a longer one the first are read. By default 64, and at most half of
            `max_seq_len`.
        max_seq_len: most in an input of the model; by default what model and tokenizer allow, up to 384. A longer
            context is read in windows.
        doc_stride: how many neighbouring windows share; by default 128, and at most half of what the longest question
            leaves to the context.
        handle_impossible_answer: answer `{"answer": "", "start": 0, "end": 0}`, with the probability of that, where the
            context holds no answer. Only models that were trained with such questions tell.
        no_answer_threshold: by how much the log probability of no answer must exceed that of the best one; raise it to
            answer more often.
        on_error: `"raise"`, or `"skip"`: an input that cannot be read gives `{"error": "..."}` and the others their
            results.
        batch_size: windows in a forward pass; like lengths are put together.
        progress_bar: show one, over inputs.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require_fast(self.tokenizer)
        self._window_sizes(**self._preprocess_params)

    def _sanitize_parameters(
        self,
        *,
        top_k: int | None = None,
        max_answer_len: int | None = None,
        max_question_len: int | None = None,
        max_seq_len: int | None = None,
        doc_stride: int | None = None,
        handle_impossible_answer: bool | None = None,
        no_answer_threshold: float | None = None,
        on_error: Literal["raise", "skip"] | None = None,
        progress_bar: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if on_error not in (None, "raise", "skip"):
            raise ValueError(f'on_error is "raise" or "skip", not {on_error!r}')
        for name, value in (("top_k", top_k), ("max_answer_len", max_answer_len)):
            if value is not None:
                check_count(name, value)
        if no_answer_threshold is not None and isnan(no_answer_threshold):
            raise ValueError("no_answer_threshold is NaN; give a number, 0 for what the model finds likelier")
        reading = {"max_question_len": max_question_len, "max_seq_len": max_seq_len, "doc_stride": doc_stride}
        flow = {"on_error": on_error, "progress_bar": progress_bar, "max_answer_len": max_answer_len}
        writing = {
            "top_k": top_k,
            "handle_impossible_answer": handle_impossible_answer,
            "no_answer_threshold": no_answer_threshold,
        }
        return tuple({k: v for k, v in part.items() if v is not None} for part in (reading, flow, writing))  # type: ignore[return-value]

    def __call__(self, inputs: Any = None, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions.

        Args:
            inputs: as described at the class, in place of `question` and `context`.
            *args: none are taken.
            question: a question, or a list of them.
            context: a context, or a list of them.
            **kwargs: the parameters of the class, for this call.

        Returns:
            For one input, a mapping with `answer`, `start`, `end` and `score`, or with `top_k` above 1 a list of them;
            for a list, a list of these; for any other iterable, an iterator over them.

        Raises:
            TypeError, ValueError: for an input that cannot be read, unless `on_error="skip"`; for parameters that do
                not go together.
        """
        return self._answer(self.postprocess, inputs, args, question=question, context=context, **kwargs)

    def nbest(self, inputs: Any = None, *args: Any, question: Any = None, context: Any = None, **kwargs: Any) -> Any:
        """Answer questions with all that an ensemble needs to vote.

        Takes what a call takes, and returns as many results, each an `NBest`: `answers` with `text`, `start`, `end` and
        `score`, and `no_answer_score`. Scores are log probabilities, and `top_k` is 20 unless given, as in the
        `nbest_predictions.json` of the training script.
        """

        def unchanged(found: NBest, **_: Any) -> NBest:
            return found

        kwargs = {"top_k": NBEST_SIZE, **kwargs}
        return self._answer(unchanged, inputs, args, question=question, context=context, **kwargs)

    def _answer(
        self,
        finish: Callable[..., Any],
        inputs: Any,
        others: tuple[Any, ...],
        *,
        question: Any,
        context: Any,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Check what a call was given, and make `finish` of each question's `NBest`."""
        if others:
            raise TypeError(
                f"pass question=... and context=... by name; besides the first input there is {others!r:.80}"
            )
        if question is not None or context is not None:
            if inputs is not None:
                raise TypeError(
                    f"pass either question=... and context=..., or inputs; besides both there is {inputs!r:.80}"
                )
            inputs = paired_inputs(question, context)
        given = self._sanitize_parameters(**kwargs)
        own = (self._preprocess_params, self._forward_params, self._postprocess_params)
        reading, flow, writing = ({**ours, **theirs} for ours, theirs in zip(own, given, strict=True))
        size = batch_size if batch_size is not None else self._batch_size or 1
        check_count("batch_size", size)
        if hasattr(inputs, "columns") and hasattr(inputs, "to_dict"):
            raise TypeError('a data frame is no input; give its rows, frame.to_dict("records")')
        results = self._results(finish, inputs, size, {"sizes": self._window_sizes(**reading)}, writing, **flow)
        if is_single(inputs):
            return next(results)
        return list(results) if isinstance(inputs, (list, tuple)) else results

    def _window_sizes(
        self, max_question_len: int | None = None, max_seq_len: int | None = None, doc_stride: int | None = None
    ) -> WindowSizes:
        """Fill in the lengths that are not given, and check all."""
        limit = readable_length(self.model, self.tokenizer)
        max_length = max_seq_len if max_seq_len is not None else min(limit, _DEFAULT_MAX_LENGTH)
        if isinstance(max_length, int) and max_length > limit:
            raise ValueError(f"max_seq_len is {max_length}; the model and its tokenizer read at most {limit}")
        names = ("max_seq_len", "max_question_len", "doc_stride")
        # The shortest input comes first: only with it can the others be filled in.
        check_window_sizes(WindowSizes(max_length, 1, 0), self.tokenizer, names)
        room = max_length - self.tokenizer.num_special_tokens_to_add(pair=True)
        question = max_question_len if max_question_len is not None else min(_DEFAULT_MAX_QUESTION_LENGTH, room // 2)
        check_window_sizes(WindowSizes(max_length, question, 0), self.tokenizer, names)
        stride = doc_stride if doc_stride is not None else min(_DEFAULT_STRIDE, max_length // 2, (room - question) // 2)
        sizes = WindowSizes(max_length, question, stride)
        check_window_sizes(sizes, self.tokenizer, names)
        return sizes

    def _results(
        self,
        finish: Callable[..., Any],
        inputs: Any,
        batch_size: int,
        reading: Mapping[str, Any],
        writing: Mapping[str, Any],
        *,
        on_error: str = "raise",
        progress_bar: bool = False,
        max_answer_len: int = 15,
    ) -> Iterator[Any]:
        prepare = partial(self.preprocess, **reading)
        for chunk in prepared_chunks(inputs, prepare, batch_size, on_error, progress_bar):
            questions = [read for read in chunk if not isinstance(read, Unreadable)]
            collector = AnswerCollector(max_answer_len, writing.get("top_k", 1))
            self._read(questions, collector, batch_size)
            number = -1
            for read in chunk:
                if isinstance(read, Unreadable):
                    yield {"error": read.error}
                else:
                    number += 1
                    yield finish(collector.nbest(number, read.asked.context), **writing)

    def save_pretrained(self, save_directory: str | PathLike[str], **kwargs: Any) -> None:
        """Save model and tokenizer; the base class would try to copy this module, whose imports it cannot follow."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)

    def preprocess(self, input_: Any, sizes: WindowSizes) -> QuestionToRead:
        """Tokenise one input (see `question_of_input`) in windows.

        Raises:
            TypeError, ValueError: as `question_of_input`; ValueError also where the tokenizer finds no word in the
                context.
        """
        asked = question_of_input(input_)
        [tokenised] = tokenise_questions(self.tokenizer, [asked.question], [asked.context], sizes.max_question_length)
        if not (tokenised.spans >= 0).any():
            raise ValueError(f"the tokenizer finds no word in the context {asked.context!r:.80}; give one with words")
        windows = []
        for kept in tokenised.windows(sizes.max_length, sizes.doc_stride):
            inputs = {name: values[kept] for name, values in tokenised.inputs.items()}
            cls_position = int(kept.searchsorted(tokenised.cls_position))
            windows.append(Window(inputs, WindowSlots(0, tokenised.spans[kept], cls_position)))
        return QuestionToRead(asked, windows)

    def _read(self, questions: Sequence[QuestionToRead], collector: AnswerCollector, batch_size: int) -> None:
        """Read all windows of some questions; the collector knows these by their place in the list."""
        windows = [
            Window(window.inputs, window.slots._replace(question=number))
            for number, question in enumerate(questions)
            for window in question.windows
        ]
        windows.sort(key=lambda window: len(window.slots.offsets))
        # On the right whichever side the tokenizer pads: there, it shifts no model's positions.
        collate = QuestionAnsweringCollator(self.tokenizer.pad_token_id or 0)
        for start in range(0, len(windows), batch_size):
            batch = windows[start : start + batch_size]
            logits = self.forward(collate([window.inputs for window in batch]))
            collector.add([window.slots for window in batch], logits["start"], logits["end"])

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> dict[str, torch.Tensor]:
        """Logits of each position to be the answer's start and its end, each ``[B, L]``."""
        output = self.model(**input_tensors)
        if "start_logits" not in output or "end_logits" not in output:
            raise TypeError(
                f"{type(self.model).__name__} gives no start and end logits; load the model with "
                "AutoModelForQuestionAnswering.from_pretrained(...)"
            )
        return {"start": output["start_logits"].float(), "end": output["end_logits"].float()}

    def postprocess(
        self,
        model_outputs: NBest,
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        no_answer_threshold: float = 0.0,
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Describe the best answers, no answer among them where it is asked for."""
        found = [
            {"answer": one["text"], "start": one["start"], "end": one["end"], "score": exp(one["score"])}
            for one in model_outputs["answers"]
        ]
        if handle_impossible_answer or not found:
            # It comes before the first answer that it exceeds by the threshold.
            least = model_outputs["no_answer_score"] - no_answer_threshold
            place = sum(one["score"] >= least for one in model_outputs["answers"])
            none = {"answer": "", "start": 0, "end": 0, "score": exp(model_outputs["no_answer_score"])}
            found.insert(place, none)
        return found[:top_k] if top_k > 1 else found[0]
