"""`pipeline("abstract-cloze")`: ranks the options for the gap of a question about an article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, ClassVar, Literal

import torch

from ..abstract_cloze.collator import ClozeCollator
from ..abstract_cloze.encoding import (
    DefinitionReader,
    check_max_length,
    check_separators,
    encode_questions,
    find_definitions,
    pair_layout,
)
from ..abstract_cloze.questions import cloze_question_of
from ..modeling.co_attention import OPTION_TYPE
from ..modeling.positions import max_tokens
from ..text import truncate_repr
from .base import TextPipeline, check_flags
from .checkpoints import class_name

_DEFAULT_MAX_LENGTH = 150


class AbstractClozePipeline(TextPipeline):
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

    The best option comes first. `index` is its place among the given options and `score` its probability among them.
    `definitions` are those that the model has read with it: the last one may be truncated. There may be two options or
    more, each of one or several words.

    Works with any model of `AutoModelForMultipleChoice` that has a fast tokenizer. The defaults of the first three
    parameters are what the model was trained with, if its config says so (as those of this library do); otherwise the
    article is read, definitions are not.

    Inputs: `article=`, `question=` and `options=`; a mapping with these, or with `option_0`, `option_1` and so on as
    in the files of ReCAM; or a list, tuple, dataset, generator or other iterable of such mappings.

    Args:
        use_definitions: read the definitions of each option.
        use_article: if False, read the question alone; then inputs need no article.
        max_option_length: maximum length in pieces of article, question, definitions and special tokens together; 150
            if the config does not say. The ends of definitions and article are truncated to it.
        option_reader: finds the definitions, in place of WordNet; implies `use_definitions` unless that is False.
        **kwargs: `on_error`, `batch_size` (in questions), `num_workers` and `progress_bar`, see `TextPipeline`.
    """

    input_format = 'article="...", question="..." and options=[...], or a mapping with these'
    input_names = ("article", "question", "options")
    numbered_inputs: ClassVar[Mapping[str, str]] = {"options": "option_"}
    training_hint = (
        "train one with `clozeformers train abstract-cloze RECIPE`, by a recipe such as minilm-gap-pretrained; any "
        "multiple choice model will do"
    )
    examples = tuple(
        {"article": article, "question": "The @placeholder was found.", "options": ["letter", "old coin", "cat"]}
        for article in ("The letter was written in May. It is in the museum now.", "A coin was found.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # As in `Trainer`, the task is told by the class name.
        name, config = class_name(self.model), self.model.config
        has_token_types = hasattr(config, "num_co_attention_layers")
        if not has_token_types:
            if "MultipleChoice" not in name:
                raise ValueError(
                    f"{name} is not a multiple choice model: it does not score options; {self.training_hint}, or load "
                    "one with AutoModelForMultipleChoice.from_pretrained(...)"
                )
            takes_types = "token_type_ids" in signature(self.model.forward).parameters
            has_token_types = takes_types and getattr(config, "type_vocab_size", OPTION_TYPE + 1) > OPTION_TYPE
        self._has_token_types = has_token_types
        self.layout = pair_layout(self.tokenizer)
        if getattr(self.model, "co_attention", None) is not None:
            check_separators(self.layout, self.model.article_separators, name)
        self._wordnet_reader: DefinitionReader | None = None
        self._max_length(self._preprocess_params.get("max_option_length"))

    def _sanitize_parameters(
        self,
        *,
        use_definitions: bool | None = None,
        use_article: bool | None = None,
        max_option_length: int | None = None,
        option_reader: DefinitionReader | None = None,
        **kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        check_flags(use_definitions=use_definitions, use_article=use_article)
        if option_reader is not None and not hasattr(option_reader, "many"):
            raise TypeError(
                f"option_reader is {type(option_reader).__name__} {truncate_repr(option_reader)}; it must have the "
                "method `many` of clozeformers.abstract_cloze.wordnet.DefinitionLookup"
            )
        preprocess = {
            "use_definitions": use_definitions,
            "use_article": use_article,
            "max_option_length": max_option_length,
            "option_reader": option_reader,
        }
        return self._group_parameters(preprocess, {}, **kwargs)

    def _resolve_parameters(
        self,
        use_definitions: bool | None = None,
        use_article: bool | None = None,
        max_option_length: int | None = None,
        option_reader: DefinitionReader | None = None,
    ) -> dict[str, Any]:
        """Fill in what is not given by what the model was trained with."""
        config = self.model.config
        if use_definitions is None:
            use_definitions = option_reader is not None or getattr(config, "use_definitions", False)
        if use_article is None:
            use_article = getattr(config, "use_article", True)
        return {
            "option_reader": (option_reader or self._wordnet()) if use_definitions else None,
            "use_article": use_article,
            "max_option_length": self._max_length(max_option_length),
        }

    def _wordnet(self) -> DefinitionReader:
        if self._wordnet_reader is None:
            from ..abstract_cloze.wordnet import DefinitionLookup

            self._wordnet_reader = DefinitionLookup()
        return self._wordnet_reader

    def _max_length(self, given: int | None) -> int:
        """Check the maximum length, or choose it by default."""
        trained = getattr(self.model.config, "max_option_length", None)
        limit = self.readable_length()
        if trained is not None:
            # The limit of a tokenizer is often that of another task; a model can read what it was trained to read.
            limit = max_tokens(self.model) or max(limit, trained)
        max_length = given if given is not None else min(limit, trained or _DEFAULT_MAX_LENGTH)
        check_max_length(max_length, self.layout)
        if max_length > limit:
            raise ValueError(f"max_option_length is {max_length}; the model and its tokenizer read at most {limit}")
        return max_length

    def __call__(
        self,
        inputs: Any = None,
        *args: Any,
        article: str | None = None,
        question: str | None = None,
        options: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Rank options of `inputs` or of one question given by keywords; see `TextPipeline.__call__`.

        Raises:
            FileNotFoundError, ImportError: if WordNet or NLTK is needed but not installed; says how to install it.
        """
        named = {"article": article, "question": question, "options": options}
        named = {name: value for name, value in named.items() if value is not None}
        if named and inputs is not None:
            raise TypeError(f"pass either an input or {', '.join(f'{name}=...' for name in named)}; got both")
        return super().__call__(named or inputs, *args, **kwargs)

    def preprocess(
        self, input_: Any, option_reader: DefinitionReader | None, use_article: bool, max_option_length: int
    ) -> dict[str, Any]:
        """Check one input, look up the definitions of its options, and tokenize it.

        Raises:
            TypeError, ValueError: as `cloze_question_of` and `encode_questions`.
        """
        question = cloze_question_of(input_, use_article)
        definitions = find_definitions([question], option_reader)
        article_sentences = getattr(self.model.config, "article_sentences", "first")
        [encoded] = encode_questions(
            self.tokenizer,
            [question],
            definitions,
            max_option_length,
            ["the input"],
            article_sentences=article_sentences,
        )
        names = ["input_ids", "token_type_ids"]
        names += ["option_mask"] * (getattr(self.model.config, "option_features", None) is not None)
        features = {name: [getattr(option, name) for option in encoded] for name in names}
        return {
            "features": [features],
            "options": question.options,
            "definitions": [list(option.definitions) for option in encoded],
        }

    def _batch_key(self, features: Mapping[str, Any]) -> tuple[int, int]:
        """Questions of a batch have equally many options, so that no option is padding alone."""
        return len(features["input_ids"]), max(map(len, features["input_ids"]))

    def collate(self, features: list[Any]) -> dict[str, torch.Tensor]:
        """Pad options where padding moves neither the class token nor a position, wherever the tokenizer pads."""
        side: Literal["left", "right"] = "left" if self.layout.class_token_is_last else "right"
        batch = ClozeCollator(self.tokenizer, padding_side=side)(features)
        if not self._has_token_types:
            del batch["token_type_ids"]
        return batch

    def example_features(self, **parameters: Any) -> list[Any]:
        """As the base class, without definitions: they are only text to a model, and WordNet need not be installed."""
        return super().example_features(**parameters | {"use_definitions": False, "option_reader": None})

    def _forward(self, input_tensors: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Return the logits of the options, ``[B, C]``."""
        logits: torch.Tensor = self.model(**input_tensors).logits
        return logits.float()

    def postprocess(self, model_outputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Describe each option, best first."""
        scores = model_outputs["logits"][0].softmax(dim=-1).tolist()
        described = [
            {"option": option, "index": index, "score": score, "definitions": definitions}
            for index, (option, score, definitions) in enumerate(
                zip(model_outputs["options"], scores, model_outputs["definitions"], strict=True)
            )
        ]
        return sorted(described, key=lambda option: -option["score"])
