"""Negation scope models: an encoder, a stack of Orthogonal Attention blocks that the cue queries, a linear layer.

Source: Khandelwal & Attar, "Orthogonal Attention: A Cloze-Style Approach to Negation Scope Resolution", section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax, nll_loss, pad
from transformers import initialization as init
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils import can_return_tuple

from .backbones import (
    AlbertBackbone,
    BackboneMixin,
    BertBackbone,
    DebertaV2Backbone,
    ModernBertBackbone,
    RobertaBackbone,
    XLNetBackbone,
    as_mask,
    values_are_known,
)
from .configuration_negation_scope import (
    AlbertNegationScopeOAConfig,
    BertNegationScopeOAConfig,
    DebertaV2NegationScopeOAConfig,
    ModernBertNegationScopeOAConfig,
    RobertaNegationScopeOAConfig,
    XLNetNegationScopeOAConfig,
)
from .orthogonal_attention import FanInLinear, HeadwiseLinear, OrthogonalAttentionStack


@dataclass
class NegationScopeOutput(TokenClassifierOutput):
    """What a negation scope model returns.

    Attributes:
        loss: mean negative log-likelihood a word; only with `labels`.
        logits: ``[B, L, 2]``, one row a word piece; label 1 is "in scope".
        hidden_states: the backbone's, with `output_hidden_states=True`.
        attentions: the backbone's, with `output_attentions=True`.
        orthogonal_attentions: with `output_attentions=True`, each block's weights ``[B, H, L, N]``: how much piece i
            reads through cue piece j.
        cue_positions: with `output_attentions=True`, ``[B, N]``: where cue piece j stands in the input, -1 for none.
    """

    orthogonal_attentions: tuple[Tensor, ...] | None = None
    cue_positions: Tensor | None = None


class NegationScopeMixin(BackboneMixin):
    """The head, over any encoder that a subclass names as its second base; no pooler, since every word is labelled."""

    # The loss is a sum over words divided by their number in the whole (accumulated, distributed) batch.
    accepts_loss_kwargs = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.build_backbone(config))
        self.attention_stack: OrthogonalAttentionStack | None = None
        if not config.is_baseline:
            self.attention_stack = OrthogonalAttentionStack(
                config.num_attention_blocks,
                config.hidden_size,
                config.block_heads,
                config.attention_variant,
                config.head_dropout,
            )
        self.dropout = nn.Dropout(config.head_dropout)
        # Not `classifier`: a backbone fine-tuned for another task would bring weights of that name.
        self.scope_classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (FanInLinear, HeadwiseLinear)):
            bound = module.fan_in**-0.5
            for parameter in module.parameters(recurse=False):
                init.uniform_(parameter, -bound, bound)
        else:
            super()._init_weights(module)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        cue_mask: Tensor | None = None,
        labels: Tensor | None = None,
        word_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> NegationScopeOutput:
        """Label every word piece as in or out of the cue's scope.

        Args:
            input_ids: ``[B, L]``.
            attention_mask: ``[B, L]``, 1 at real pieces; None: all are real.
            token_type_ids: ``[B, L]``, for backbones that read them.
            cue_mask: ``[B, L]``, 1 on the cue's own pieces (not on the cue token before them). None, or a row of
                zeros: no cue, which the blocks answer with nothing to add.
            labels: ``[B, L]``, 0 or 1 at the first piece of each word, -100 elsewhere.
            word_ids: ``[B, L]``, the number of the word a piece belongs to, -1 for none. With it, the loss of a word
                is the mean over all its pieces, as its predicted label is; without it, that of the labelled piece.
            inputs_embeds: ``[B, L, D]``, in place of `input_ids`.
            output_attentions: return the backbone's attention weights and the blocks' own.
            output_hidden_states: return the backbone's hidden states.
            num_items_in_batch: words in the whole batch, over devices and accumulation steps; given by `Trainer`.
            **kwargs: handed to the backbone.

        Returns:
            `NegationScopeOutput`, or a tuple of its fields with `return_dict=False`.

        Raises:
            ValueError: if a cue has more than `config.max_cue_length` pieces (not in compiled code, which cannot look).
        """
        if output_attentions is None:
            output_attentions = self.config.output_attentions
        encoded = self.encode(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            **kwargs,
        )
        hidden_states = encoded.last_hidden_state
        weights, cue_positions = None, None
        if self.attention_stack is not None:
            shape, device = hidden_states.shape[:2], hidden_states.device
            context_mask = as_mask(attention_mask, shape, device, default=True)
            query_mask = as_mask(cue_mask, shape, device, default=False) & context_mask
            read, weights, cue_positions = self.attention_stack(
                self.dropout(hidden_states), context_mask, query_mask, self._query_length(query_mask)
            )
            hidden_states = self.dropout(read) + hidden_states
        logits = self.scope_classifier(self.dropout(hidden_states))
        loss = None if labels is None else word_loss(logits, labels, word_ids, num_items_in_batch)
        return NegationScopeOutput(
            loss=loss,
            logits=logits,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions,
            orthogonal_attentions=weights if output_attentions else None,
            cue_positions=cue_positions if output_attentions else None,
        )

    def _query_length(self, query_mask: Tensor) -> int:
        """Positions to reserve for the cue: as many as the batch needs, or, in compiled code, as the config allows."""
        limit: int = self.config.max_cue_length
        if not values_are_known(query_mask):
            return limit
        longest = int(query_mask.sum(1).max()) if query_mask.numel() else 0
        if longest > limit:
            raise ValueError(
                f"a cue has {longest} word pieces, but config.max_cue_length is {limit}; check that cue_mask is 1 on "
                f"the cue's own pieces only, or raise the limit with model.config.max_cue_length = {longest}"
            )
        return max(longest, 1)


def word_loss(
    logits: Tensor, labels: Tensor, word_ids: Tensor | None, num_items_in_batch: Tensor | int | None
) -> Tensor:
    """Negative log-likelihood a word; a word's log-likelihood is the mean over its pieces.

    Args:
        logits: ``[B, L, C]``.
        labels: ``[B, L]``, one a word, -100 elsewhere.
        word_ids: ``[B, L]``, -1 for none; or None.
        num_items_in_batch: what to divide the sum by; None for the number of labels here.

    Returns:
        A scalar; zero, not NaN, where nothing is labelled.
    """
    scores = log_softmax(logits.float(), dim=-1)
    if word_ids is not None:
        # Sum each word's pieces, which stand together, into a slot of its own; then read the mean back at the pieces.
        # The slots count the words of this input: in a window, the words' own numbers may be larger than its length.
        is_next = pad(word_ids[:, 1:] != word_ids[:, :-1], (1, 0), value=False)
        slots = is_next.cumsum(1).unsqueeze(-1)
        counts = torch.zeros_like(scores[..., :1]).scatter_add(1, slots, torch.ones_like(scores[..., :1]))
        sums = torch.zeros_like(scores).scatter_add(1, slots.expand_as(scores), scores)
        scores = (sums / counts.clamp(min=1)).gather(1, slots.expand_as(scores))
    total = nll_loss(scores.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
    if num_items_in_batch is None:
        num_items_in_batch = (labels != -100).sum().clamp(min=1)
    return total / num_items_in_batch


class XLNetForNegationScopeOA(NegationScopeMixin, XLNetBackbone):
    """XLNet with Orthogonal Attention: the model of the paper.

    `XLNetForNegationScopeOA.from_pretrained("xlnet/xlnet-base-cased", attention_variant="OA-CA")` loads the backbone
    and makes a new head.
    """

    config_class = XLNetNegationScopeOAConfig
    config: XLNetNegationScopeOAConfig


class BertForNegationScopeOA(NegationScopeMixin, BertBackbone):
    """BERT with Orthogonal Attention."""

    config_class = BertNegationScopeOAConfig
    config: BertNegationScopeOAConfig


class RobertaForNegationScopeOA(NegationScopeMixin, RobertaBackbone):
    """RoBERTa with Orthogonal Attention."""

    config_class = RobertaNegationScopeOAConfig
    config: RobertaNegationScopeOAConfig


class AlbertForNegationScopeOA(NegationScopeMixin, AlbertBackbone):
    """ALBERT with Orthogonal Attention."""

    config_class = AlbertNegationScopeOAConfig
    config: AlbertNegationScopeOAConfig


class DebertaV2ForNegationScopeOA(NegationScopeMixin, DebertaV2Backbone):
    """DeBERTa v2 and v3 with Orthogonal Attention."""

    config_class = DebertaV2NegationScopeOAConfig
    config: DebertaV2NegationScopeOAConfig


class ModernBertForNegationScopeOA(NegationScopeMixin, ModernBertBackbone):
    """ModernBERT with Orthogonal Attention."""

    config_class = ModernBertNegationScopeOAConfig
    config: ModernBertNegationScopeOAConfig


NEGATION_SCOPE_MODELS: tuple[type[NegationScopeMixin], ...] = (
    XLNetForNegationScopeOA,
    BertForNegationScopeOA,
    RobertaForNegationScopeOA,
    AlbertForNegationScopeOA,
    DebertaV2ForNegationScopeOA,
    ModernBertForNegationScopeOA,
)
