"""The one place that makes the library known to transformers' Auto classes and pipelines."""

from __future__ import annotations

from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING
from transformers.pipelines import PIPELINE_REGISTRY

from .modeling.modeling_negation_scope import NEGATION_SCOPE_MODELS
from .pipelines.negation_scope import NegationScopePipeline


def register() -> None:
    """Register configs, models, tokenizers and pipelines; doing it twice is harmless."""
    for model in NEGATION_SCOPE_MODELS:
        config = model.config_class
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModelForTokenClassification.register(config, model, exist_ok=True)
        AutoTokenizer.register(config, TOKENIZER_MAPPING[CONFIG_MAPPING[config.backbone_model_type]], exist_ok=True)
    if "negation-scope" not in PIPELINE_REGISTRY.supported_tasks:
        PIPELINE_REGISTRY.register_pipeline(
            "negation-scope", NegationScopePipeline, pt_model=AutoModelForTokenClassification, type="text"
        )
