"""Abstract cloze models: an encoder of article and option, co-attention between the two, one logit per option.

Source: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4: WordNet-Enhanced Dual Multi-head Co-Attention for Reading
Comprehension of Abstract Meaning", section 2. The definitions are part of the input: WN-DUMA and DUMA have the same
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers.modeling_outputs import MultipleChoiceModelOutput
from transformers.models.deberta_v2.modeling_deberta_v2 import ContextPooler
from transformers.models.modernbert.modeling_modernbert import ModernBertPredictionHead
from transformers.models.xlnet.modeling_xlnet import XLNetSequenceSummary
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
)
from .co_attention import CoAttentionFeatures, CoAttentionStack, masked_mean, segment_masks
from .configuration_wn_duma import (
    AlbertWNDumaConfig,
    BertWNDumaConfig,
    DebertaV2WNDumaConfig,
    ModernBertWNDumaConfig,
    RobertaWNDumaConfig,
    XLNetWNDumaConfig,
)
from .losses import IGNORED_LABEL, option_loss
from .option_features import GapHead, mask_gap
from .packing import pack, values_are_known


@dataclass
class AbstractClozeOutput(MultipleChoiceModelOutput):
    """Output of an abstract cloze model.

    Attributes:
        loss: mean negative log-likelihood per question; only with `labels`.
        logits: ``[B, C]``; the dtype's minimum at options that only pad the batch.
        hidden_states: the backbone's, ``[B * C, L, D]``, with `output_hidden_states=True`; padding is moved to the side
            that the encoder expects. ``[B, L, D]`` with `option_features="gap"`.
        attentions: the backbone's, likewise, with `output_attentions=True`.
        article_attentions: with `output_attentions=True`, one tensor per layer, ``[B, C, H, M, N]``: attention of
            article piece i to option piece j.
        option_attentions: likewise, ``[B, C, H, N, M]``: attention of option piece i to article piece j.
        article_positions: with `output_attentions=True`, ``[B, C, M]``: position of article piece i in the input, -1
            for none.
        option_positions: likewise, ``[B, C, N]``.
    """

    article_attentions: tuple[Tensor, ...] | None = None
    option_attentions: tuple[Tensor, ...] | None = None
    article_positions: Tensor | None = None
    option_positions: Tensor | None = None


class _Options(NamedTuple):
    """All options of a batch as rows ``[B * C, L]``, padded on the side that the encoder expects."""

    real: Tensor  # False at padding
    is_option: Tensor  # [B * C], False for rows that only pad the batch
    order: Tensor  # position in the input of each position in the row
    own: Tensor  # True at the option's own pieces
    inputs: dict[str, Tensor | None]  # arguments of the encoder


class FullPrecisionLinear(nn.Linear):
    """Linear layer that computes in float32 or more: in lower precision, the logits of different options tie."""

    def forward(self, inputs: Tensor) -> Tensor:
        """As `nn.Linear`, whatever the dtype of the weights and under autocast too."""
        dtype = torch.promote_types(inputs.dtype, torch.float32)
        with torch.autocast(inputs.device.type, enabled=False):
            return linear(inputs.to(dtype), self.weight.to(dtype), self.bias.to(dtype))


class WNDumaMixin(BackboneMixin):
    """The head, over the encoder that a subclass names as its second base."""

    article_separators: ClassVar[int] = 1
    padding_side: ClassVar[str] = "right"
    # Without co-attention: config fields with the dropout of the pooled output, of which the first not None counts.
    pooled_dropouts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        layers, size, is_gap = config.num_co_attention_layers, config.hidden_size, config.option_features == "gap"
        setattr(self, self.base_model_prefix, self.build_backbone(config, add_pooling_layer=not (layers or is_gap)))
        self.co_attention: CoAttentionStack | None = None
        if is_gap:
            self.gap_head = GapHead(size, self.get_input_embeddings().embedding_dim)
            self.post_init()
            return
        if layers:
            self.co_attention = CoAttentionStack(
                layers,
                size,
                config.num_co_attention_heads,
                config.co_attention_head_size,
                config.co_attention,
                config.co_attention_dropout,
            )
        else:
            self.build_pooler(config)
            given = [getattr(config, name, None) for name in self.pooled_dropouts]
            self.dropout = nn.Dropout(next((value for value in given if value is not None), 0.0))
        num_features = (2 if layers else 1) + (config.option_features == "span")
        self.span_norm = nn.LayerNorm(size) if config.option_features == "span" else None
        # Not `classifier`: checkpoints fine-tuned for another task have weights of that name.
        self.option_classifier = FullPrecisionLinear(num_features * size, 1)
        self.post_init()

    def build_pooler(self, config: Any) -> None:
        """Build the modules that `pool` needs beyond the encoder's own pooler; called without co-attention."""

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Pool the encoder's output as transformers does: one vector per row ``[R, D]``; `real` is ``[R, L]``."""
        return encoded.pooler_output

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        option_mask: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> AbstractClozeOutput:
        """Score every option.

        Args:
            input_ids: ``[B, C, L]``: an article with each of the C options of a question.
            attention_mask: ``[B, C, L]``, 1 at real pieces; None: all are real. An option without real pieces only pads
                the batch, whose questions may have different numbers of options.
            token_type_ids: ``[B, C, L]``: 0 on the article and its separators, 1 on the option and its separators, 2 on
                a class token at the end. The co-attention needs them even where the encoder takes none.
            labels: ``[B]``, index of the correct option; -100 for a question to ignore.
            inputs_embeds: ``[B, C, L, D]``, in place of `input_ids`.
            option_mask: ``[B, C, L]``, 1 at the option's own pieces, without the rest of the question and the
                definitions; needed with `config.option_features`.
            output_attentions: return the attention weights of backbone and co-attention.
            output_hidden_states: return the backbone's hidden states.
            num_items_in_batch: questions in the whole batch, over devices and accumulation steps; given by `Trainer`.
            **kwargs: passed to the backbone.

        Raises:
            ValueError: for inputs of other shapes, without token types, with an option without pieces, or with a label
                out of range (values are not checked in compiled code).
        """
        output_attentions, output_hidden_states = self.wanted_outputs(output_attentions, output_hidden_states)
        shape = _shape(input_ids, inputs_embeds)
        options = self._flatten(shape, input_ids, attention_mask, token_type_ids, inputs_embeds, option_mask)
        if self.config.option_features is not None:
            self._check_option_mask(shape, options, option_mask)
        outputs = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states, **kwargs}
        read = None
        if self.config.option_features == "gap":
            encoded, scores = self._score_gaps(shape, options, outputs)
        else:
            encoded, scores, read = self._score_options(shape, options, outputs)
        is_option = options.is_option.view(shape[:2])
        logits = scores.view(shape[:2]).masked_fill(~is_option, torch.finfo(scores.dtype).min)
        loss = None
        if labels is not None:
            check_labels(labels, is_option)
            loss = option_loss(logits, labels, num_items_in_batch)
        return AbstractClozeOutput(
            loss=loss,
            logits=logits,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions,
            **(_co_attentions(read, options.order, shape) if read is not None and output_attentions else {}),
        )

    def _score_options(
        self, shape: torch.Size, options: _Options, outputs: dict[str, Any]
    ) -> tuple[Any, Tensor, CoAttentionFeatures | None]:
        """Return the encoder's output, the scores ``[B * C]``, and what the co-attention has read."""
        segments = None if self.co_attention is None else self._segments(shape, options)
        asked = outputs["output_attentions"] or outputs["output_hidden_states"]
        rows = None if asked else _rows_to_read(options.is_option)
        encoded = self.encode(**{name: _rows(values, rows) for name, values in options.inputs.items()}, **outputs)
        if self.co_attention is None or segments is None:
            features, read = self.dropout(self.pool(encoded, _rows(options.real, rows))), None
        else:
            article_mask, option_mask = (_rows(mask, rows) for mask in segments)
            read = self.co_attention(encoded.last_hidden_state, article_mask, option_mask, outputs["output_attentions"])
            features = read.features
        if self.span_norm is not None:
            span = self.span_norm(masked_mean(encoded.last_hidden_state, _rows(options.own, rows)))
            features = torch.cat([features, span], dim=-1)
        scores = self.option_classifier(features).squeeze(-1)
        if rows is not None:
            scores = scores.new_zeros(options.is_option.shape).index_copy(0, rows, scores)
        return encoded, scores, read

    def _score_gaps(self, shape: torch.Size, options: _Options, outputs: dict[str, Any]) -> tuple[Any, Tensor]:
        """Return the encoder's output for the questions with a mask in the gap, and the scores ``[B, C]``."""
        input_ids = options.inputs["input_ids"]
        if input_ids is None or self.config.mask_token_id is None:
            missing = "input_ids" if input_ids is None else "config.mask_token_id"
            raise ValueError(f'{missing} is missing: a model with option_features="gap" puts a mask in the gap')
        masked = mask_gap(input_ids, options.real, options.own, shape[1], self.config.mask_token_id, self.padding_side)
        token_types = options.inputs["token_type_ids"]
        encoded = self.encode(
            input_ids=masked.input_ids,
            # A fully padded row attends to itself, as in `_flatten`.
            attention_mask=(masked.real | ~masked.real.any(1, keepdim=True)).long(),
            token_type_ids=None if token_types is None else token_types[masked.rows].gather(1, masked.order),
            **outputs,
        )
        states = self.gap_head.states(masked_mean(encoded.last_hidden_state, masked.gap))
        candidates = self.gap_head.candidates(self.get_input_embeddings()(input_ids), options.own)
        return encoded, self.gap_head(states, candidates.unflatten(0, shape[:2]))

    def _check_option_mask(self, shape: torch.Size, options: _Options, option_mask: Tensor | None) -> None:
        """Raise a ValueError if an option has no piece of its own (values are not checked in compiled code)."""
        if option_mask is None:
            raise ValueError(f"option_mask is missing: the model's option_features are {self.config.option_features!r}")
        if values_are_known(options.own):
            self._check_pieces(shape, options.is_option & ~options.own.any(1), "option_mask must be 1 on its pieces")

    @staticmethod
    def _check_pieces(shape: torch.Size, is_missing: Tensor, right: str) -> None:
        missing = is_missing.nonzero()
        if len(missing):
            question, option = divmod(int(missing[0]), shape[1])
            raise ValueError(f"option {option} of question {question} has no piece of its own: {right}")

    def _flatten(
        self,
        shape: torch.Size,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        token_type_ids: Tensor | None,
        inputs_embeds: Tensor | None,
        option_mask: Tensor | None,
    ) -> _Options:
        """Flatten the options to rows and move the padding of each to one side.

        Absolute positions count from the start of a row, and poolers expect the class token at one end.
        """
        if token_type_ids is not None and token_type_ids.shape != shape:
            raise ValueError(f"token_type_ids have shape {tuple(token_type_ids.shape)}; the input's is {tuple(shape)}")
        given = {"input_ids": input_ids, "token_type_ids": token_type_ids, "inputs_embeds": inputs_embeds}
        device = next(values.device for values in given.values() if values is not None)
        real = as_mask(attention_mask, shape, device, default=True).flatten(0, 1)
        order, _ = pack(real if self.padding_side == "right" else ~real)
        real = real.gather(1, order)
        own = as_mask(option_mask, shape, device, default=False).flatten(0, 1).gather(1, order) & real
        inputs: dict[str, Tensor | None] = {}
        for name, values in given.items():
            flat = None if values is None else values.flatten(0, 1)
            index = order.unsqueeze(-1) if name == "inputs_embeds" else order
            inputs[name] = None if flat is None else flat.gather(1, index.expand_as(flat))
        is_option = real.any(1)
        # A fully padded row attends to itself: the softmax of an empty set may be NaN.
        readable = real | ~is_option.unsqueeze(1)
        inputs["attention_mask"] = None if attention_mask is None else readable.long()
        return _Options(real, is_option, order, own, inputs)

    def encode(self, *, token_type_ids: Tensor | None, **inputs: Any) -> Any:
        """Call the encoder, without token types if it has fewer than two."""
        known = getattr(self.config, "type_vocab_size", None)
        return super().encode(token_type_ids=token_type_ids if known is None or known > 1 else None, **inputs)

    def _segments(self, shape: torch.Size, options: _Options) -> tuple[Tensor, Tensor]:
        """Return the masks ``[B * C, L]`` of article and option."""
        token_types = options.inputs["token_type_ids"]
        if token_types is None:
            raise ValueError("token_type_ids are missing: they separate article (0) and option (1) for every encoder")
        article_mask, option_mask = segment_masks(token_types, options.real, self.article_separators)
        if values_are_known(option_mask):
            right = "token_type_ids must be 1 on the option, its definitions and the separator after them"
            self._check_pieces(shape, options.is_option & ~option_mask.any(1), right)
        return article_mask, option_mask


def _shape(input_ids: Tensor | None, inputs_embeds: Tensor | None) -> torch.Size:
    """Return ``[B, C, L]`` of the input; raise a ValueError for other shapes."""
    given = [("input_ids", input_ids, 3), ("inputs_embeds", inputs_embeds, 4)]
    shapes = [(name, values.shape, dimensions) for name, values, dimensions in given if values is not None]
    if len(shapes) != 1:
        raise ValueError("give either input_ids or inputs_embeds")
    name, shape, dimensions = shapes[0]
    if len(shape) != dimensions:
        raise ValueError(
            f"{name} have shape {tuple(shape)}; an abstract cloze model takes all options of each question, "
            "[questions, options, pieces]: for the options of a single question, add a dimension with .unsqueeze(0)"
        )
    return shape[:3]


def _rows_to_read(is_option: Tensor) -> Tensor | None:
    """Return the indices of the rows that are options; None for all, or where values are unknown."""
    if not values_are_known(is_option):
        return None
    rows = is_option.nonzero().squeeze(1)
    return rows if 0 < len(rows) < len(is_option) else None


def _rows(values: Tensor | None, rows: Tensor | None) -> Any:
    return values if rows is None or values is None else values[rows]


def _co_attentions(read: CoAttentionFeatures, order: Tensor, shape: torch.Size) -> dict[str, Any]:
    """Return the fields of `AbstractClozeOutput` on the co-attention, with positions of the input."""

    def in_input(positions: Tensor) -> Tensor:
        return order.gather(1, positions.clamp(min=0)).masked_fill(positions < 0, -1).unflatten(0, shape[:2])

    return {
        "article_attentions": tuple(weights.unflatten(0, shape[:2]) for weights in read.article_weights),
        "option_attentions": tuple(weights.unflatten(0, shape[:2]) for weights in read.option_weights),
        "article_positions": in_input(read.article_positions),
        "option_positions": in_input(read.option_positions),
    }


def check_labels(labels: Tensor, is_option: Tensor) -> None:
    """Raise a ValueError if a label ``[B]`` is none of the options ``[B, C]`` (not checked in compiled code)."""
    if labels.shape != is_option.shape[:1]:
        raise ValueError(f"labels have shape {tuple(labels.shape)}; there are {is_option.size(0)} questions")
    if not values_are_known(labels):
        return
    for question, (label, is_real) in enumerate(zip(labels.tolist(), is_option.tolist(), strict=True)):
        if label != IGNORED_LABEL and label not in [index for index, real in enumerate(is_real) if real]:
            raise ValueError(
                f"the label of question {question} is {label}, but its options are 0 to {sum(is_real) - 1}; "
                f"{IGNORED_LABEL} ignores a question"
            )


class AlbertWithWNDuma(WNDumaMixin, AlbertBackbone):
    """ALBERT with co-attention: the model of the paper.

    `AlbertWithWNDuma.from_pretrained("albert/albert-xxlarge-v2")` loads the backbone and initialises the head;
    `co_attention="parallel"` is DUMA, `num_co_attention_layers=0` the encoder alone.
    """

    config_class = AlbertWNDumaConfig
    pooled_dropouts = ("classifier_dropout_prob",)


class BertWithWNDuma(WNDumaMixin, BertBackbone):
    """BERT with co-attention."""

    config_class = BertWNDumaConfig
    pooled_dropouts = ("classifier_dropout", "hidden_dropout_prob")


class RobertaWithWNDuma(WNDumaMixin, RobertaBackbone):
    """RoBERTa with co-attention."""

    config_class = RobertaWNDumaConfig
    article_separators = 2
    pooled_dropouts = ("hidden_dropout_prob",)


class DebertaV2WithWNDuma(WNDumaMixin, DebertaV2Backbone):
    """DeBERTa v2 and v3 with co-attention."""

    config_class = DebertaV2WNDumaConfig
    pooled_dropouts = ("cls_dropout", "hidden_dropout_prob")

    def build_pooler(self, config: DebertaV2WNDumaConfig) -> None:
        """Build the pooler of DeBERTa's sequence classifiers."""
        self.pooler = ContextPooler(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Pool the class token."""
        return self.pooler(encoded.last_hidden_state)


class XLNetWithWNDuma(WNDumaMixin, XLNetBackbone):
    """XLNet with co-attention."""

    config_class = XLNetWNDumaConfig
    padding_side = "left"  # its class token comes last

    def build_pooler(self, config: XLNetWNDumaConfig) -> None:
        """Build the summary of XLNet's sequence classifiers, which includes its dropout."""
        self.sequence_summary = XLNetSequenceSummary(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Pool the class token."""
        return self.sequence_summary(encoded.last_hidden_state)


class ModernBertWithWNDuma(WNDumaMixin, ModernBertBackbone):
    """ModernBERT with co-attention."""

    config_class = ModernBertWNDumaConfig
    pooled_dropouts = ("classifier_dropout",)

    def build_pooler(self, config: ModernBertWNDumaConfig) -> None:
        """Build the head of ModernBERT's sequence classifiers."""
        self.head = ModernBertPredictionHead(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Pool the class token, or the mean over all pieces, by `config.classifier_pooling`."""
        hidden_states = encoded.last_hidden_state
        pooled = masked_mean(hidden_states, real) if self.config.classifier_pooling == "mean" else hidden_states[:, 0]
        return self.head(pooled)


WN_DUMA_MODELS: tuple[type[WNDumaMixin], ...] = (
    AlbertWithWNDuma,
    BertWithWNDuma,
    RobertaWithWNDuma,
    DebertaV2WithWNDuma,
    XLNetWithWNDuma,
    ModernBertWithWNDuma,
)
