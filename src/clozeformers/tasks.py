"""The table of tasks. Registration, export, command line, results and analysis read it; there is no other list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
    AutoTokenizer,
    Pipeline,
    PreTrainedModel,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING
from transformers.pipelines import PIPELINE_REGISTRY

from .modeling.modeling_bidaf import BiDAFForQuestionAnswering
from .modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS
from .modeling.modeling_qanet import QANetForQuestionAnswering
from .modeling.modeling_wn_duma import WN_DUMA_MODELS
from .modeling.tokenization_word_char import WordCharTokenizer
from .pipelines.abstract_cloze import AbstractClozePipeline
from .pipelines.checkpoints import DefaultModel, reporting
from .pipelines.negation_scope import NegationScopePipeline
from .pipelines.question_answering import ExtractiveQuestionAnsweringPipeline

if TYPE_CHECKING:
    from types import ModuleType

    from .training.model_card import TaskCard


@dataclass(frozen=True)
class Task:
    """A row of the table.

    Attributes:
        name: of the task, of the folder of this package that holds what only this task needs, and of its recipes.
        pipeline_name: for `transformers.pipeline`.
        pipeline: its class.
        auto_model: the Auto class that loads the task's models.
        models: the library's own models.
        script: module of `run_glue_style` that trains and scores.
        tokenizer: of the models; None if each model has its backbone's.
        has_analysis: whether the task has an error analysis.
        has_drawing: whether results can be drawn.
        has_votes: whether files of predictions of several models can vote.
    """

    name: str
    pipeline_name: str
    pipeline: type[Pipeline]
    auto_model: Any
    models: tuple[type[PreTrainedModel], ...]
    script: str
    tokenizer: type | None = None
    has_analysis: bool = False
    has_drawing: bool = False
    has_votes: bool = False

    @property
    def card(self) -> TaskCard:
        """The task's part of model cards and results tables: `CARD` of the module `card`."""
        card: TaskCard = self._module("card").CARD
        return card

    @property
    def analysis(self) -> ModuleType:
        """Error analysis: the module `analysis`, with `is_data_file` and `analyze_files`."""
        return self._module("analysis")

    @property
    def drawing(self) -> ModuleType:
        """Drawings of results: the module `drawing`, with `render`."""
        if not self.has_drawing:
            raise ValueError(f"results of {self.pipeline_name!r} cannot be drawn")
        return self._module("drawing")

    @property
    def vote_scores(self) -> Callable[..., dict[str, float]] | None:
        """Scores of a vote: `vote_scores` of the module `votes`; None if the task has no votes."""
        return self._module("votes").vote_scores if self.has_votes else None

    @property
    def main(self) -> Callable[[list[str]], dict[str, Any]]:
        """The script's `main`, from a command line to a record."""
        main: Callable[[list[str]], dict[str, Any]] = import_module(f"{__package__}.run_glue_style.{self.script}").main
        return main

    def _module(self, name: str) -> ModuleType:
        # Imported at first use: `datasets` takes a second to import, and a pipeline does not need it.
        return import_module(f"{__package__}.{self.name}.{name}")


TASKS: tuple[Task, ...] = (
    Task(
        name="negation_scope",
        pipeline_name="negation-scope",
        pipeline=NegationScopePipeline,
        auto_model=AutoModelForTokenClassification,
        models=NEGATION_SCOPE_MODELS,
        script="run_negation_scope",
        has_drawing=True,
    ),
    Task(
        name="question_answering",
        pipeline_name="extractive-question-answering",
        pipeline=ExtractiveQuestionAnsweringPipeline,
        auto_model=AutoModelForQuestionAnswering,
        models=(QANetForQuestionAnswering, BiDAFForQuestionAnswering),
        script="run_extractive_qa",
        has_drawing=True,
        tokenizer=WordCharTokenizer,
        has_analysis=True,
        has_votes=True,
    ),
    Task(
        name="abstract_cloze",
        pipeline_name="abstract-cloze",
        pipeline=AbstractClozePipeline,
        auto_model=AutoModelForMultipleChoice,
        models=WN_DUMA_MODELS,
        script="run_abstract_cloze",
        has_drawing=True,
        has_analysis=True,
    ),
)


def register() -> None:
    """Register configs, models, tokenizers and pipelines with transformers; calling it again has no effect."""
    for task in TASKS:
        for model in task.models:
            config = model.config_class
            tokenizer = task.tokenizer or TOKENIZER_MAPPING[CONFIG_MAPPING[config.backbone_model_type]]
            AutoConfig.register(config.model_type, config, exist_ok=True)
            for auto_class in (AutoModel, task.auto_model):
                auto_class.register(config, model, exist_ok=True)
            AutoTokenizer.register(config, tokenizer, exist_ok=True)
        if task.pipeline_name not in PIPELINE_REGISTRY.supported_tasks:
            PIPELINE_REGISTRY.register_pipeline(
                task.pipeline_name,
                task.pipeline,
                pt_model=reporting(task.auto_model),
                default={"model": DefaultModel(task.pipeline_name, task.pipeline.training_hint)},
                type="text",
            )


def task_of_model(model_class: type) -> Task | None:
    """The task of one of the library's model classes; None for another class."""
    return next((task for task in TASKS if issubclass(model_class, task.models)), None)


def task_of_config(config: Any) -> Task | None:
    """The task of a checkpoint: by its type if it is one of the library's, else by the head that its class names."""
    saved = ", ".join(config.architectures or ())
    for task in TASKS:
        is_own = any(type(config) is model.config_class for model in task.models)
        if is_own or task.auto_model.__name__.removeprefix("AutoModel") in saved:
            return task
    return None


def task_named(name: str) -> Task:
    """Find a task by its name or that of its pipeline.

    Raises:
        ValueError: there is no such task; names those that there are.
    """
    for task in TASKS:
        if name in (task.name, task.pipeline_name):
            return task
    raise ValueError(f"there is no task {name!r}; there are {', '.join(task.pipeline_name for task in TASKS)}")
