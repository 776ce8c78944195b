"""Negation scope models: an encoder, blocks of query-context attention with the cue as query, a linear layer.

Source: Khandelwal & Attar, "Orthogonal Attention: A Cloze-Style Approach to Negation Scope Resolution", section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import TokenClassifierOutput
from transformers.utils import can_return_tuple

from .attention import init_fan_in, self_attention
from .backbones import (
    AlbertBackbone,
    BackboneMixin,
    BertBackbone,
    DebertaV2Backbone,
    ModernBertBackbone,
    RobertaBackbone,
    XLNetBackbone,
    as_mask,
)
from .configuration_negation_scope import (
    NUM_CUE_LABELS,
    AlbertNegationScopeOAConfig,
    BertNegationScopeOAConfig,
    DebertaV2NegationScopeOAConfig,
    ModernBertNegationScopeOAConfig,
    RobertaNegationScopeOAConfig,
    XLNetNegationScopeOAConfig,
)
from .context_query_attention import build_attention
from .losses import word_loss
from .orthogonal_attention import FanInLinear
from .packing import gather_query, longest, values_are_known


@dataclass
class NegationScopeOutput(TokenClassifierOutput):
    """Output of a negation scope model.

    Attributes:
        loss: mean negative log-likelihood per word; only with `labels`.
        logits: ``[B, L, 2]``, per word piece; label 1 is "in scope". ``[B, C, L, 2]`` for several cues an input.
        cue_logits: ``[B, L, 4]``, of the labels no cue, cue, affix cue, part of a cue; only with `config.finds_cues`.
        hidden_states: the backbone's, with `output_hidden_states=True`.
        attentions: the backbone's, with `output_attentions=True`.
        orthogonal_attentions: with `output_attentions=True`, the weights of each block, ``[B, H, L, N]``: attention of
            piece i to cue piece j. ``[B, C, H, L, N]`` for several cues an input.
        cue_positions: with `output_attentions=True`, ``[B, N]``: position of cue piece j in the input, -1 for none.
            ``[B, C, N]`` for several cues an input.
    """

    cue_logits: Tensor | None = None
    orthogonal_attentions: tuple[Tensor, ...] | None = None
    cue_positions: Tensor | None = None


class UnprojectedSelfAttention(nn.Module):
    """Multi-head self-attention whose heads are concatenated and not projected (section 3.1)."""

    def __init__(self, hidden_size: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_key_value = FanInLinear(hidden_size, 3 * hidden_size)

    def forward(self, hidden_states: Tensor, mask: Tensor) -> Tensor:
        """``[B, M, D]`` and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
        return self_attention(self.query_key_value(hidden_states), mask, self.num_heads)


class QueryContextBlock(GradientCheckpointingLayer):
    """Query-context attention, self-attention and two fully connected layers, with residuals (Figure 1).

    The output of a mechanism whose `output_size` is not D is projected to D.
    """

    def __init__(self, hidden_size: int, num_heads: int, attention: str, dropout: float) -> None:
        super().__init__()
        self.attention = build_attention(
            attention, hidden_size, num_heads=num_heads, dropout=dropout, rnn_size=max(hidden_size // 2, 1)
        )
        same_size = self.attention.output_size == hidden_size
        self.attention_projection = (
            nn.Identity() if same_size else FanInLinear(self.attention.output_size, hidden_size, bias=False)
        )
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.self_attention = UnprojectedSelfAttention(hidden_size, num_heads)
        self.intermediate = FanInLinear(hidden_size, hidden_size)
        self.output = FanInLinear(hidden_size, hidden_size)
        self.output_norm = nn.LayerNorm(hidden_size)

    def forward(
        self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor, with_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """``[B, M, D], [B, N, D], [B, M], [B, N]`` -> new context ``[B, M, D]`` and, on request, the weights."""
        weights = None
        if with_weights:
            attended, weights = self.attention.attend(context, query, context_mask, query_mask)
        else:
            attended = self.attention(context, query, context_mask, query_mask)
        context = self.attention_norm(self.attention_projection(attended) + context)
        attended = self.self_attention(context, context_mask)
        return self.output_norm(self.output(self.intermediate(attended).relu()) + context), weights


class QueryContextStack(nn.Module):
    """Blocks one after the other, each with the query extracted from its own input (section 4)."""

    # Models gather these names from their children: a block's residuals have to be on one device.
    _no_split_modules = ("QueryContextBlock",)

    def __init__(self, num_blocks: int, hidden_size: int, num_heads: int, attention: str, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            QueryContextBlock(hidden_size, num_heads, attention, dropout) for _ in range(num_blocks)
        )

    def forward(
        self,
        hidden_states: Tensor,
        context_mask: Tensor,
        cue_mask: Tensor,
        query_length: int,
        with_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
        """Run the blocks over hidden states ``[B, M, D]``, with two boolean masks ``[B, M]`` and the query length N.

        Returns:
            New hidden states ``[B, M, D]``, the weights of each block ``[B, H, M, N]`` (empty unless asked for), and
            the positions ``[B, N]`` of the query in the sequence (-1: none).
        """
        all_weights: tuple[Tensor, ...] = ()
        positions = cue_mask.new_empty(0)
        for block in self.blocks:
            query, query_mask, positions = gather_query(hidden_states, cue_mask, query_length)
            hidden_states, weights = block(hidden_states, query, context_mask, query_mask, with_weights)
            all_weights += (weights,) if with_weights else ()
        return hidden_states, all_weights, positions


class NegationScopeMixin(BackboneMixin):
    """The head, over the encoder that a subclass names as its second base."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        setattr(self, self.base_model_prefix, self.build_backbone(config))
        self.attention_stack: QueryContextStack | None = None
        if not config.is_baseline:
            self.attention_stack = QueryContextStack(
                config.num_attention_blocks,
                config.hidden_size,
                config.block_heads,
                config.attention_variant,
                config.head_dropout,
            )
        self.dropout = nn.Dropout(config.head_dropout)
        # Not `classifier`: checkpoints fine-tuned for another task have weights of that name.
        self.scope_classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.cue_classifier: nn.Linear | None = None
        if config.finds_cues:
            self.cue_classifier = nn.Linear(config.hidden_size, NUM_CUE_LABELS)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if hasattr(module, "fan_in"):
            init_fan_in(module)
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
        cue_labels: Tensor | None = None,
        word_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        num_cue_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> NegationScopeOutput:
        """Label every word piece as in or out of the cue's scope and, with `config.finds_cues`, find the cues.

        Both heads may read one encoding of the plain input. Where a cue token precedes each cue word, the input is
        encoded without it to find the cues.

        Args:
            input_ids: ``[B, L]``.
            attention_mask: ``[B, L]``, 1 at real pieces; None: all are real.
            token_type_ids: ``[B, L]``, for backbones that take them.
            cue_mask: ``[B, L]``, 1 on the cue's own pieces (not on the cue token before them); None, or a row of
                zeros, for no cue. ``[B, C, L]`` for several cues of one input, which is encoded once; labels and logits
                have that dimension too.
            labels: ``[B, L]``, 0 or 1 at the first piece of each word, -100 elsewhere; or, as floats, probabilities to
                be in scope, such as those of another model.
            cue_labels: ``[B, L]``, 0 to 3 at the first piece of each word, see `cue_logits`, -100 elsewhere. Their loss
                is the mean over words, added to that of `labels`.
            word_ids: ``[B, L]``, index of each piece's word, -1 for none. With it, the loss of a word is the mean over
                its pieces, as its predicted label is; without it, that of the labelled piece.
            inputs_embeds: ``[B, L, D]``, in place of `input_ids`.
            output_attentions: return the attention weights of backbone and blocks.
            output_hidden_states: return the backbone's hidden states.
            num_items_in_batch: words with one of `labels` in the whole batch, over devices and accumulation steps;
                given by `Trainer`.
            num_cue_items_in_batch: likewise, words with one of `cue_labels`; given by `NegationScopeTrainer`.
            **kwargs: passed to the backbone.

        Raises:
            ValueError: if a cue has more than `config.max_cue_length` pieces (not checked in compiled code).
        """
        output_attentions, output_hidden_states = self.wanted_outputs(output_attentions, output_hidden_states)
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
        cue_logits, loss = None, None
        if self.cue_classifier is not None:
            cue_logits = self.cue_classifier(self.dropout(hidden_states))
            if cue_labels is not None:
                loss = word_loss(cue_logits, cue_labels, word_ids, num_cue_items_in_batch)
        shape = hidden_states.shape[:1]
        if cue_mask is not None and cue_mask.ndim == 3:
            shape = cue_mask.shape[:2]
            cue_mask, labels = cue_mask.flatten(0, 1), None if labels is None else labels.flatten(0, 1)
            hidden_states, attention_mask, word_ids = (
                None if values is None else values.repeat_interleave(shape[1], 0)
                for values in (hidden_states, attention_mask, word_ids)
            )
        logits, weights, cue_positions = self.read_scopes(hidden_states, attention_mask, cue_mask, output_attentions)

        def unflatten(given: Any) -> Any:
            if isinstance(given, tuple):
                return tuple(map(unflatten, given))
            return None if given is None else given.unflatten(0, shape)

        if labels is not None:
            scope_loss = word_loss(logits, labels, word_ids, num_items_in_batch)
            loss = scope_loss if loss is None else loss + scope_loss
        return NegationScopeOutput(
            loss=loss,
            logits=unflatten(logits),
            cue_logits=cue_logits,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions,
            orthogonal_attentions=unflatten(weights) if output_attentions else None,
            cue_positions=unflatten(cue_positions) if output_attentions else None,
        )

    def find_cues(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Encode inputs ``[B, L]``, for models with `config.finds_cues`.

        Returns:
            The logits ``[B, L, 4]`` of the cue labels, see `cue_logits`, and the encoding ``[B, L, D]``.
        """
        assert self.cue_classifier is not None
        encoded = self.encode(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=None)
        return self.cue_classifier(encoded.last_hidden_state), encoded.last_hidden_state

    def read_scopes(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None,
        cue_mask: Tensor | None,
        output_attentions: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...] | None, Tensor | None]:
        """Label the pieces of encoded inputs ``[B, L, D]``, each with one cue; the masks are as in `forward`.

        Returns:
            The logits ``[B, L, 2]``, and the weights of the blocks and the positions of the cue, None for the baseline.
        """
        weights, cue_positions = None, None
        if self.attention_stack is not None:
            shape, device = hidden_states.shape[:2], hidden_states.device
            context_mask = as_mask(attention_mask, shape, device, default=True)
            query_mask = as_mask(cue_mask, shape, device, default=False) & context_mask
            read, weights, cue_positions = self.attention_stack(
                self.dropout(hidden_states),
                context_mask,
                query_mask,
                self._query_length(query_mask),
                output_attentions,
            )
            hidden_states = self.dropout(read) + hidden_states
        return self.scope_classifier(self.dropout(hidden_states)), weights, cue_positions

    def _query_length(self, query_mask: Tensor) -> int:
        """Return N: the longest cue of the batch or, where values are unknown, the limit of the config."""
        limit: int = self.config.max_cue_length
        if not values_are_known(query_mask):
            return limit
        length = longest(query_mask)
        if length > limit:
            raise ValueError(
                f"a cue has {length} word pieces, but config.max_cue_length is {limit}; check that cue_mask is 1 on "
                f"the cue's own pieces only, or raise the limit with model.config.max_cue_length = {length}"
            )
        return length


class XLNetForNegationScopeOA(NegationScopeMixin, XLNetBackbone):
    """XLNet with Orthogonal Attention: the model of the paper.

    `XLNetForNegationScopeOA.from_pretrained("xlnet/xlnet-base-cased", attention_variant="OA-CA")` loads the backbone
    and initialises the head.
    """

    config_class = XLNetNegationScopeOAConfig


class BertForNegationScopeOA(NegationScopeMixin, BertBackbone):
    """BERT with Orthogonal Attention."""

    config_class = BertNegationScopeOAConfig


class RobertaForNegationScopeOA(NegationScopeMixin, RobertaBackbone):
    """RoBERTa with Orthogonal Attention."""

    config_class = RobertaNegationScopeOAConfig


class AlbertForNegationScopeOA(NegationScopeMixin, AlbertBackbone):
    """ALBERT with Orthogonal Attention."""

    config_class = AlbertNegationScopeOAConfig


class DebertaV2ForNegationScopeOA(NegationScopeMixin, DebertaV2Backbone):
    """DeBERTa v2 and v3 with Orthogonal Attention."""

    config_class = DebertaV2NegationScopeOAConfig


class ModernBertForNegationScopeOA(NegationScopeMixin, ModernBertBackbone):
    """ModernBERT with Orthogonal Attention."""

    config_class = ModernBertNegationScopeOAConfig


NEGATION_SCOPE_MODELS: tuple[type[NegationScopeMixin], ...] = (
    XLNetForNegationScopeOA,
    BertForNegationScopeOA,
    RobertaForNegationScopeOA,
    AlbertForNegationScopeOA,
    DebertaV2ForNegationScopeOA,
    ModernBertForNegationScopeOA,
)
