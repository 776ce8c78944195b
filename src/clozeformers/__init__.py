"""clozeformers: query-aware reading models for Hugging Face Transformers.

Importing the package makes its models known to the Auto classes and its tasks to `transformers.pipeline`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from .hub import push_to_hub, save_with_code
from .lazy import lazy_names
from .modeling.attention import register_attention
from .modeling.auto import AutoModelForAbstractCloze, AutoModelForNegationScope
from .modeling.configuration_bidaf import BiDAFConfig
from .modeling.configuration_negation_scope import (
    AlbertNegationScopeOAConfig,
    BertNegationScopeOAConfig,
    DebertaV2NegationScopeOAConfig,
    ModernBertNegationScopeOAConfig,
    RobertaNegationScopeOAConfig,
    XLNetNegationScopeOAConfig,
)
from .modeling.configuration_qanet import QANetConfig
from .modeling.configuration_wn_duma import (
    AlbertWNDumaConfig,
    BertWNDumaConfig,
    DebertaV2WNDumaConfig,
    ModernBertWNDumaConfig,
    RobertaWNDumaConfig,
    XLNetWNDumaConfig,
)
from .modeling.modeling_bidaf import BiDAFForQuestionAnswering
from .modeling.modeling_negation_scope import (
    AlbertForNegationScopeOA,
    BertForNegationScopeOA,
    DebertaV2ForNegationScopeOA,
    ModernBertForNegationScopeOA,
    RobertaForNegationScopeOA,
    XLNetForNegationScopeOA,
)
from .modeling.modeling_qanet import QANetForQuestionAnswering
from .modeling.modeling_wn_duma import (
    AlbertWithWNDuma,
    BertWithWNDuma,
    DebertaV2WithWNDuma,
    ModernBertWithWNDuma,
    RobertaWithWNDuma,
    XLNetWithWNDuma,
)
from .modeling.orthogonal_attention import OrthogonalAttention
from .modeling.tokenization_word_char import WordCharTokenizer
from .onnx_export import save_as_onnx
from .pipelines.abstract_cloze import AbstractClozePipeline
from .pipelines.negation_scope import NegationScopePipeline
from .pipelines.question_answering import ExtractiveQuestionAnsweringPipeline
from .pipelines.question_answering_ensemble import ExtractiveQuestionAnsweringEnsemble
from .tasks import register

if TYPE_CHECKING:
    from .abstract_cloze.trainer import AbstractClozeTrainer
    from .negation_scope.trainer import NegationScopeTrainer
    from .question_answering.trainer import QuestionAnsweringTrainer

__all__ = [
    "AbstractClozePipeline",
    "AbstractClozeTrainer",
    "AlbertForNegationScopeOA",
    "AlbertNegationScopeOAConfig",
    "AlbertWNDumaConfig",
    "AlbertWithWNDuma",
    "AutoModelForAbstractCloze",
    "AutoModelForNegationScope",
    "BertForNegationScopeOA",
    "BertNegationScopeOAConfig",
    "BertWNDumaConfig",
    "BertWithWNDuma",
    "BiDAFConfig",
    "BiDAFForQuestionAnswering",
    "DebertaV2ForNegationScopeOA",
    "DebertaV2NegationScopeOAConfig",
    "DebertaV2WNDumaConfig",
    "DebertaV2WithWNDuma",
    "ExtractiveQuestionAnsweringEnsemble",
    "ExtractiveQuestionAnsweringPipeline",
    "ModernBertForNegationScopeOA",
    "ModernBertNegationScopeOAConfig",
    "ModernBertWNDumaConfig",
    "ModernBertWithWNDuma",
    "NegationScopePipeline",
    "NegationScopeTrainer",
    "OrthogonalAttention",
    "QANetConfig",
    "QANetForQuestionAnswering",
    "QuestionAnsweringTrainer",
    "RobertaForNegationScopeOA",
    "RobertaNegationScopeOAConfig",
    "RobertaWNDumaConfig",
    "RobertaWithWNDuma",
    "WordCharTokenizer",
    "XLNetForNegationScopeOA",
    "XLNetNegationScopeOAConfig",
    "XLNetWNDumaConfig",
    "XLNetWithWNDuma",
    "push_to_hub",
    "register_attention",
    "save_as_onnx",
    "save_with_code",
]

register()

_SUBPACKAGES = ("abstract_cloze", "analysis", "metrics", "negation_scope", "question_answering", "training")
_lazy_name = lazy_names(
    __name__,
    {
        "AbstractClozeTrainer": ".abstract_cloze.trainer",
        "NegationScopeTrainer": ".negation_scope.trainer",
        "QuestionAnsweringTrainer": ".question_answering.trainer",
    },
)


def __getattr__(name: str) -> Any:
    return import_module(f".{name}", __name__) if name in _SUBPACKAGES else _lazy_name(name)
