"""Configs of the negation scope models: a backbone's config with the fields of the head."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import (
    AlbertConfig,
    BertConfig,
    DebertaV2Config,
    ModernBertConfig,
    RobertaConfig,
    XLNetConfig,
)

from .attention import check_heads
from .configuration_backbone import MAX_LAYERS, MAX_SIZE, BackboneConfigMixin
from .context_query_attention import check_attention

SCOPE_LABELS = {0: "out-of-scope", 1: "in-scope"}
NUM_CUE_LABELS = 4  # no cue, a cue, an affix cue, a part of a cue of several words


@dataclass(kw_only=True, repr=False, eq=False)
class NegationScopeConfigMixin(BackboneConfigMixin):
    """The fields that the head adds to a backbone's config.

    Args:
        attention_variant: name of a registered attention: `"OA-C"`, `"OA-CA"`, `"OA-EM"`, `"OA-EMB"`, `"trilinear"`,
            `"bidaf"`, `"dot"`, `"self"`, `"combined"`, or a name given to `register_attention`; None for the baseline,
            a linear layer on the backbone.
        num_attention_blocks: number of attention blocks; 0 is the baseline too.
        num_block_heads: heads of a block; None for as many as the backbone has.
        head_dropout: dropout of the head, on attention weights and hidden states.
        max_cue_length: largest number of word pieces in a cue, for which compiled and exported models reserve room.
        cue_token: token inserted before each cue word ("augment"), for data preparation and the pipeline; None for
            unchanged input ("normal").
        kind: of the cues that the model was trained on, `"negation"` or `"speculation"`; None if it is not known. The
            pipeline finds cues of negation.
        conventions: of the corpora that the model was trained on: `"cd-sco"`, `"bioscope"`, `"sfu"`.
        convention_tokens: of a model of several conventions, the token that replaces `cue_token` under each. Where no
            token precedes the cue words, in unchanged input and where cues are found, it begins the sentence.
        finds_cues: add a head that labels the cues themselves, in input without cue tokens.
        lexicon_conventions: those under which the pipeline takes the cues of the lexicon all the same.
        candidate_token: token inserted before each word that the lexicon takes for a cue, where cues are found and in
            unchanged input; None for none.
        affixes: whether affixes (*im*possible) are cues, which the pipeline then looks for; None if it is not known.
    """

    attention_variant: str | None = "OA-CA"
    num_attention_blocks: int = 2
    num_block_heads: int | None = None
    head_dropout: float | int = 0.3
    max_cue_length: int = 16
    cue_token: str | None = None
    kind: str | None = None
    conventions: list[str] | None = None
    finds_cues: bool = False
    lexicon_conventions: list[str] | None = None
    candidate_token: str | None = None
    affixes: bool | None = None
    convention_tokens: dict[str, str] | None = None

    auto_model: ClassVar[str] = "AutoModelForNegationScope"
    pipeline_task: ClassVar[str] = "negation-scope"

    def __post_init__(self, **kwargs: Any) -> None:
        """Set the label names, unless the checkpoint has its own, and validate."""
        super().__post_init__(**kwargs)  # type: ignore[misc]
        if self.id2label in (None, {0: "LABEL_0", 1: "LABEL_1"}):  # type: ignore[has-type]
            self.id2label = dict(SCOPE_LABELS)
            self.label2id = {label: index for index, label in SCOPE_LABELS.items()}
        # `@strict` calls this method too, but wraps its errors in a type that is no ValueError.
        self.validate_negation_scope_head()

    @property
    def is_baseline(self) -> bool:
        """Whether the head is a single linear layer."""
        return self.attention_variant is None or self.num_attention_blocks == 0

    def finds_cues_under(self, convention: str | None) -> bool:
        """Whether the model itself finds the cues under a convention; otherwise, the lexicon does.

        A convention that the model was not trained on counts as its first. The lexicon has no cues of speculation.
        """
        known = convention if convention in (self.conventions or ()) else next(iter(self.conventions or ()), None)
        by_lexicon = self.kind != "speculation" and known in (self.lexicon_conventions or ())
        return self.finds_cues and not by_lexicon

    def mark_tokens(self, conventions: Sequence[str | None], finds_cues: bool = False) -> list[str] | None:
        """Token before the marked words of each example, given its convention; None for none.

        The words of the cue are marked or, in unchanged input and where cues are found, those that the lexicon takes
        for cues, see `marks_candidates`. Under a convention that the model was not trained on, it follows its first.

        Args:
            conventions: of the examples.
            finds_cues: whether the sentences are read to find their cues.
        """
        if finds_cues or self.cue_token is None:
            return None if self.candidate_token is None else [self.candidate_token] * len(conventions)
        tokens = self.convention_tokens or {}
        return [tokens.get(str(convention), self.cue_token) for convention in conventions]

    def marks_candidates(self, finds_cues: bool = False) -> bool:
        """Whether the words that the lexicon takes for cues are marked, in place of the cue."""
        return self.candidate_token is not None and (finds_cues or self.cue_token is None)

    def start_tokens(self, conventions: Sequence[str | None], finds_cues: bool = False) -> list[str] | None:
        """Token at the beginning of each sentence, given its convention; None for none.

        Args:
            conventions: as for `mark_tokens`.
            finds_cues: whether the sentences are read to find their cues.
        """
        tokens = self.convention_tokens
        if not tokens or not (finds_cues or self.cue_token is None):
            return None
        first = tokens.get((self.conventions or [""])[0], next(iter(tokens.values())))
        return [tokens.get(str(convention), first) for convention in conventions]

    @property
    def block_heads(self) -> int:
        """Number of heads of a block."""
        return self.num_block_heads or self.num_attention_heads  # type: ignore[attr-defined]

    def validate_negation_scope_head(self) -> None:
        """Raise a ValueError for fields out of range; also called by `@strict`."""
        self.check_between(0, MAX_LAYERS, "num_attention_blocks")
        self.check_dropout("head_dropout")
        self.check_between(1, MAX_SIZE, "max_cue_length")
        if self.kind not in (None, "negation", "speculation"):
            raise ValueError(f"kind is {self.kind!r:.80}; it must be 'negation', 'speculation' or None")
        if self.num_labels != len(SCOPE_LABELS):  # type: ignore[attr-defined]
            raise ValueError(f"num_labels is {self.num_labels}; it must be 2, in scope and out of scope")  # type: ignore[attr-defined]
        if not self.is_baseline:
            check_attention(self.attention_variant, self.hidden_size, self.block_heads)  # type: ignore[attr-defined, arg-type]
            check_heads(self.hidden_size, self.block_heads)  # type: ignore[attr-defined]


@strict
class XLNetNegationScopeOAConfig(NegationScopeConfigMixin, XLNetConfig):
    """`XLNetConfig` with the head's fields."""

    model_type = "xlnet-negation-scope-oa"
    backbone_model_type = XLNetConfig.model_type


@strict
class BertNegationScopeOAConfig(NegationScopeConfigMixin, BertConfig):
    """`BertConfig` with the head's fields."""

    model_type = "bert-negation-scope-oa"
    backbone_model_type = BertConfig.model_type


@strict
class RobertaNegationScopeOAConfig(NegationScopeConfigMixin, RobertaConfig):
    """`RobertaConfig` with the head's fields."""

    model_type = "roberta-negation-scope-oa"
    backbone_model_type = RobertaConfig.model_type


@strict
class AlbertNegationScopeOAConfig(NegationScopeConfigMixin, AlbertConfig):
    """`AlbertConfig` with the head's fields."""

    model_type = "albert-negation-scope-oa"
    backbone_model_type = AlbertConfig.model_type


@strict
class DebertaV2NegationScopeOAConfig(NegationScopeConfigMixin, DebertaV2Config):
    """`DebertaV2Config` with the head's fields."""

    model_type = "deberta-v2-negation-scope-oa"
    backbone_model_type = DebertaV2Config.model_type


@strict
class ModernBertNegationScopeOAConfig(NegationScopeConfigMixin, ModernBertConfig):
    """`ModernBertConfig` with the head's fields."""

    model_type = "modernbert-negation-scope-oa"
    backbone_model_type = ModernBertConfig.model_type
