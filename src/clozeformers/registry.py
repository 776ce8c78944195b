"""The one place that makes the library known to transformers' Auto classes and pipelines."""

from __future__ import annotations

from transformers import (
    AutoConfig,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
    AutoTokenizer,
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
from .pipelines.negation_scope import NegationScopePipeline
from .pipelines.question_answering import ExtractiveQuestionAnsweringPipeline


def register() -> None:
    """Register configs, models, tokenizers and pipelines; doing it twice is harmless."""
    for models, auto_class in (
        (NEGATION_SCOPE_MODELS, AutoModelForTokenClassification),
        (WN_DUMA_MODELS, AutoModelForMultipleChoice),
    ):
        for model in models:
            config = model.config_class
            AutoConfig.register(config.model_type, config, exist_ok=True)
            auto_class.register(config, model, exist_ok=True)
            AutoTokenizer.register(config, TOKENIZER_MAPPING[CONFIG_MAPPING[config.backbone_model_type]], exist_ok=True)
    for reader in (QANetForQuestionAnswering, BiDAFForQuestionAnswering):
        AutoConfig.register(reader.config_class.model_type, reader.config_class, exist_ok=True)
        AutoModelForQuestionAnswering.register(reader.config_class, reader, exist_ok=True)
        AutoTokenizer.register(reader.config_class, WordCharTokenizer, exist_ok=True)
    for task, pipeline, auto_model in (
        ("negation-scope", NegationScopePipeline, AutoModelForTokenClassification),
        ("abstract-cloze", AbstractClozePipeline, AutoModelForMultipleChoice),
        ("extractive-question-answering", ExtractiveQuestionAnsweringPipeline, AutoModelForQuestionAnswering),
    ):
        if task not in PIPELINE_REGISTRY.supported_tasks:
            PIPELINE_REGISTRY.register_pipeline(task, pipeline, pt_model=auto_model, type="text")
