"""`pipeline("abstract-cloze")`: which option fills the gap of a question about an article."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from itertools import groupby
from os import PathLike
from typing import Any, Literal, NamedTuple

import torch
from transformers import Pipeline

from ..abstract_cloze.collator import ClozeCollator
from ..abstract_cloze.encoding import (
    OPTION_TYPE,
    DefinitionReader,
    EncodedOption,
    check_max_length,
    check_separators,
    encode_questions,
    find_definitions,
    pair_layout,
)
from ..abstract_cloze.questions import ClozeQuestion, cloze_question_of
from .limits import check_count, readable_length
from .streaming import Unreadable, is_single, prepared_chunks

_DEFAULT_MAX_LENGTH = 150


class _HowToRead(NamedTuple):
    """What `preprocess` needs to know; fields as the parameters of the pipeline, with their defaults filled in."""

    option_reader: DefinitionReader | None
    use_article: bool
    max_option_length: int


class QuestionToRead(NamedTuple):
    """A question, and its options as the model reads them."""

    asked: ClozeQuestion
    options: list[EncodedOption]


class ReadQuestion(NamedTuple):
    """A question, and the probability of each of its options."""

    question: QuestionToRead
    probabilities: list[float]


class AbstractClozePipeline(Pipeline):
    """Ranks the options that may fill the gap of a question.

    ```python
    >>> cloze = pipeline("abstract-cloze", model=...)
    >>> cloze(
    ...     {
    ...         "article": "The defender is relieved: his deal runs for three years more.",
    ...         "question": "A new contract is @placeholder him to the club.",
    ...         "options": ["enabling", "committing"],
    ...     }
    ... )
    [{"option": "committing", "index": 1, "score": 0.81, "definitions": ["give entirely to a specific person ..."]},
     {"option": "enabling", "index": 0, "score": 0.19, "definitions": ["render capable or able for some task"]}]
    ```

    The best option comes first. `index` is its place among the options given, `score` its probability among them;
    `definitions` are those that the model has read with it: of a list that does not fit, the end is missing, perhaps in
    the middle of a definition. There may be two options or more, each of one word or several.

    Any model of `AutoModelForMultipleChoice` with a fast tokenizer will do. How ours were trained stands in their
    config, and is what the first three parameters are by default; others read the article and no definitions.

    Inputs: `article=...`, `question=...` and `options=...`; or a mapping with these (or `option_0`, `option_1` and so
    on, as in the files of ReCAM); a list of mappings (a list of results comes back); a dataset, generator or other
    iterable (results are yielded one by one).

    Args:
        use_definitions: read the definitions of each option.
        use_article: False reads the question alone; then no input needs an article.
        max_option_length: most word pieces of article, question and definitions together with the special tokens; 150
            for models that do not say. Of what is longer, the ends of definitions and article are not read.
        option_reader: what finds the definitions, in place of WordNet; it is used unless `use_definitions` is False.
        on_error: `"raise"`, or `"skip"`: an input that cannot be read gives `{"error": "..."}` and the others their
            results.
        batch_size: questions in a forward pass; like lengths are put together.
        progress_bar: show one, over inputs.
    """

    _load_tokenizer = True
    _load_processor = False
    _load_image_processor = False
    _load_feature_extractor = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Models of other tasks fail deep inside, on input of three dimensions; as `Trainer` does, we go by the name.
        name = type(self.model).__name__
        is_ours = hasattr(self.model.config, "num_co_attention_layers")
        # A checkpoint of another task, loaded as a multiple choice model, has a head of random weights.
        saved = ", ".join(getattr(self.model.config, "architectures", None) or [name])
        if not is_ours and not ("MultipleChoice" in name and "MultipleChoice" in saved):
            name = saved if "MultipleChoice" in name else name
            raise ValueError(
                f"{name} is no multiple choice model: it does not score options. Fine-tune one with "
                "run_glue_style/run_abstract_cloze.py, or load one with AutoModelForMultipleChoice.from_pretrained(...)"
            )
        self.layout = pair_layout(self.tokenizer)
        if getattr(self.model, "co_attention", None) is not None:
            check_separators(self.layout, self.model.article_separators, name)
        self._wordnet_reader: DefinitionReader | None = None
        # Ours tell article and option apart by the types, and know what their encoder makes of them.
        kinds = getattr(self.model.config, "type_vocab_size", None)
        has_room = kinds is None or kinds > OPTION_TYPE
        takes_types = "token_type_ids" in signature(self.model.forward).parameters
        self._reads_token_types = is_ours or (takes_types and has_room)
        self._max_length(self._preprocess_params.get("max_option_length"))

    def _sanitize_parameters(
        self,
        *,
        use_definitions: bool | None = None,
        use_article: bool | None = None,
        max_option_length: int | None = None,
        option_reader: DefinitionReader | None = None,
        on_error: Literal["raise", "skip"] | None = None,
        progress_bar: bool | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        if on_error not in (None, "raise", "skip"):
            raise ValueError(f'on_error is "raise" or "skip", not {on_error!r}')
        for name, value in (("use_definitions", use_definitions), ("use_article", use_article)):
            if value is not None and not isinstance(value, bool):
                raise TypeError(f"{name} is True or False, not {type(value).__name__} {value!r:.80}")
        if option_reader is not None and not hasattr(option_reader, "many"):
            raise TypeError(
                f"option_reader is {type(option_reader).__name__} {option_reader!r:.80}; give a "
                "clozeformers.abstract_cloze.wordnet.OptionReader, or what has its method `many`"
            )
        reading = {
            "use_definitions": use_definitions,
            "use_article": use_article,
            "max_option_length": max_option_length,
            "option_reader": option_reader,
        }
        flow = {"on_error": on_error, "progress_bar": progress_bar}
        return tuple({k: v for k, v in part.items() if v is not None} for part in (reading, flow, {}))  # type: ignore[return-value]

    def __call__(
        self,
        inputs: Any = None,
        *args: Any,
        article: str | None = None,
        question: str | None = None,
        options: Sequence[str] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Rank options.

        Args:
            inputs: as described at the class, in place of `article`, `question` and `options`.
            *args: none are taken.
            article: the article of one question.
            question: with one ``@placeholder``.
            options: two words or more.
            batch_size: in place of the pipeline's own.
            **kwargs: the parameters of the class, for this call.

        Returns:
            For one input, a list with one mapping an option, best first; for a list, a list of these; for any other
            iterable, an iterator over them.

        Raises:
            TypeError, ValueError: for an input that cannot be read, unless `on_error="skip"`: see `cloze_question_of`
                and `encode_questions`.
            FileNotFoundError, ImportError: definitions are to be read, and WordNet or its reader is not installed; says
                what installs it.
        """
        if args:
            raise TypeError(f"the pipeline takes one input, or a list of them; besides it got {args!r:.80}")
        named = {"article": article, "question": question, "options": options}
        named = {name: value for name, value in named.items() if value is not None}
        if named and inputs is not None:
            raise TypeError(f"give either an input or {', '.join(f'{name}=...' for name in named)}, not both")
        inputs = named or inputs
        given = self._sanitize_parameters(**kwargs)
        own = (self._preprocess_params, self._forward_params)
        reading, flow = ({**ours, **theirs} for ours, theirs in zip(own, given[:2], strict=True))
        size = batch_size if batch_size is not None else self._batch_size or 1
        check_count("batch_size", size)
        if hasattr(inputs, "columns") and hasattr(inputs, "to_dict"):
            raise TypeError('a data frame is no input; give its rows, frame.to_dict("records")')
        results = self._results(inputs, size, self._how_to_read(**reading), **flow)
        if is_single(inputs):
            return next(results)
        return list(results) if isinstance(inputs, (list, tuple)) else results

    def _how_to_read(
        self,
        use_definitions: bool | None = None,
        use_article: bool | None = None,
        max_option_length: int | None = None,
        option_reader: DefinitionReader | None = None,
    ) -> _HowToRead:
        """Fill in what is not given."""
        config = self.model.config
        if use_definitions is None:
            use_definitions = option_reader is not None or getattr(config, "use_definitions", False)
        if use_article is None:
            use_article = getattr(config, "use_article", True)
        if not use_definitions:
            option_reader = None
        elif option_reader is None:
            option_reader = self._wordnet()
        return _HowToRead(option_reader, use_article, self._max_length(max_option_length))

    def _wordnet(self) -> DefinitionReader:
        """Make the reader of WordNet when it is first needed."""
        if self._wordnet_reader is None:
            from ..abstract_cloze.part_of_speech import get_tagger
            from ..abstract_cloze.wordnet import OptionReader, find_wordnet

            self._wordnet_reader = OptionReader(find_wordnet(), get_tagger())
        return self._wordnet_reader

    def _max_length(self, given: int | None) -> int:
        """Check the longest input, or find out what it is by default."""
        trained = getattr(self.model.config, "max_option_length", None)
        limit = readable_length(self.model, self.tokenizer)
        if trained is not None:
            # What our models were trained to read, they read: the limit in a tokenizer is often that of another task.
            limit = self.model.config.max_pieces or max(limit, trained)
        max_length = given if given is not None else min(limit, trained or _DEFAULT_MAX_LENGTH)
        check_max_length(max_length, self.layout)
        if max_length > limit:
            raise ValueError(f"max_option_length is {max_length}; the model and its tokenizer read at most {limit}")
        return max_length

    def _results(
        self, inputs: Any, batch_size: int, how: _HowToRead, on_error: str = "raise", progress_bar: bool = False
    ) -> Iterator[Any]:
        for chunk in prepared_chunks(inputs, partial(self.preprocess, how=how), batch_size, on_error, progress_bar):
            questions = [read for read in chunk if not isinstance(read, Unreadable)]
            probabilities = iter(self._read(questions, batch_size))
            for read in chunk:
                if isinstance(read, Unreadable):
                    yield {"error": read.error}
                else:
                    yield self.postprocess(ReadQuestion(read, next(probabilities)))

    def save_pretrained(self, save_directory: str | PathLike[str], **kwargs: Any) -> None:
        """Save model and tokenizer; the base class would try to copy this module, whose imports it cannot follow."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)

    def preprocess(self, input_: Any, how: _HowToRead) -> QuestionToRead:
        """Check one input, look up its options, and tokenise it.

        Raises:
            TypeError, ValueError: as `cloze_question_of` and `encode_questions`.
        """
        asked = cloze_question_of(input_, how.use_article)
        definitions = find_definitions([asked], how.option_reader)
        [options] = encode_questions(self.tokenizer, [asked], definitions, how.max_option_length, ["the input"])
        return QuestionToRead(asked, options)

    def _read(self, questions: Sequence[QuestionToRead], batch_size: int) -> list[list[float]]:
        """Probability of each option of each question.

        Questions of one batch have the same number of options: what a model makes of an option of padding alone, which
        not every model is prepared for, is never asked.
        """
        lengths = [max(len(option.input_ids) for option in question.options) for question in questions]
        order = sorted(range(len(questions)), key=lambda number: (len(questions[number].options), lengths[number]))
        side: Literal["left", "right"] = "left" if self.layout.class_token_is_last else "right"
        # Whichever side the tokenizer pads: there, padding moves neither the class token nor a position.
        collate = ClozeCollator(self.tokenizer, padding_side=side)
        found: list[list[float]] = [[] for _ in questions]
        for _, group in groupby(order, key=lambda number: len(questions[number].options)):
            numbers = list(group)
            for start in range(0, len(numbers), batch_size):
                batch = numbers[start : start + batch_size]
                probabilities = self.forward(collate([_features(questions[number].options) for number in batch]))
                for number, row in zip(batch, probabilities.tolist(), strict=True):
                    found[number] = row
        return found

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Probability of each option, ``[B, C]``."""
        inputs = dict(input_tensors)
        if not self._reads_token_types:
            del inputs["token_type_ids"]
        logits: torch.Tensor = self.model(**inputs).logits.float()
        if not logits.isfinite().all():
            raise ValueError(
                "the model's logits are no numbers (NaN or infinite); if it runs in half precision, load it with "
                "dtype=torch.float32"
            )
        return logits.softmax(dim=-1)

    def postprocess(self, model_outputs: ReadQuestion) -> list[dict[str, Any]]:
        """Describe each option, best first."""
        asked, options = model_outputs.question
        described = [
            {"option": option, "index": index, "score": score, "definitions": list(encoded.definitions)}
            for index, (option, score, encoded) in enumerate(
                zip(asked.options, model_outputs.probabilities, options, strict=True)
            )
        ]
        return sorted(described, key=lambda option: -option["score"])


def _features(options: Sequence[EncodedOption]) -> Mapping[str, Any]:
    return {
        "input_ids": [option.input_ids for option in options],
        "token_type_ids": [option.token_type_ids for option in options],
    }
