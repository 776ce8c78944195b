"""Abstract cloze models: an encoder of article and option, co-attention between the two, one logit an option.

Source: Jiang et al., "XRJL-HKUST at SemEval-2021 Task 4: WordNet-Enhanced Dual Multi-head Co-Attention for Reading
Comprehension of Abstract Meaning", section 2. The definitions are part of the input, so that WN-DUMA and DUMA have the
same parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax, nll_loss
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
    values_are_known,
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

IGNORED_LABEL = -100


@dataclass
class AbstractClozeOutput(MultipleChoiceModelOutput):
    """What an abstract cloze model returns.

    Attributes:
        loss: mean negative log-likelihood a question; only with `labels`.
        logits: ``[B, C]``; the type's minimum at options that only pad the batch.
        hidden_states: the backbone's, ``[B * C, L, D]``, with `output_hidden_states=True`; each row has its padding on
            the encoder's side.
        attentions: the backbone's, likewise, with `output_attentions=True`.
        article_attentions: with `output_attentions=True`, one a layer, ``[B, C, H, M, N]``: how much article piece i
            reads of option piece j.
        option_attentions: likewise, ``[B, C, H, N, M]``: how much option piece i reads of article piece j.
        article_positions: with `output_attentions=True`, ``[B, C, M]``: where article piece i stands in the input, -1
            for none.
        option_positions: likewise, ``[B, C, N]``.
    """

    article_attentions: tuple[Tensor, ...] | None = None
    option_attentions: tuple[Tensor, ...] | None = None
    article_positions: Tensor | None = None
    option_positions: Tensor | None = None


class _Options(NamedTuple):
    """All options of a batch as rows ``[B * C, L]``, padded on the side that the encoder takes it."""

    real: Tensor  # False at padding
    is_option: Tensor  # [B * C], False for what only pads the batch
    order: Tensor  # where each position stood in the input
    inputs: dict[str, Tensor | None]  # what the encoder reads


class WNDumaMixin(BackboneMixin):
    """The head, over any encoder that a subclass names as its second base."""

    article_separators: ClassVar[int] = 1
    padding_side: ClassVar[str] = "right"
    # For the encoder alone: the config's field with the dropout of its pooled output; the first that is not None.
    pooled_dropouts: ClassVar[tuple[str, ...]] = ()
    # The loss is a sum over questions divided by their number in the whole (accumulated, distributed) batch.
    accepts_loss_kwargs = True

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        layers, size = config.num_co_attention_layers, config.hidden_size
        setattr(self, self.base_model_prefix, self.build_backbone(config, add_pooling_layer=layers == 0))
        self.co_attention: CoAttentionStack | None = None
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
        # Not `classifier`: a backbone fine-tuned for another task would bring weights of that name.
        self.option_classifier = nn.Linear(2 * size if layers else size, 1)
        self.post_init()

    def build_pooler(self, config: Any) -> None:
        """Make what `pool` needs beyond the encoder's own pooler; called for the encoder alone."""

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """One vector a row ``[R, D]``, from the encoder's output and its mask ``[R, L]``, as transformers has it."""
        return encoded.pooler_output

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> AbstractClozeOutput:
        """Score every option.

        Args:
            input_ids: ``[B, C, L]``: an article with each of the C options of a question.
            attention_mask: ``[B, C, L]``, 1 at real pieces; None: all are real. An option without any only pads the
                batch, in which questions may have different numbers of options.
            token_type_ids: ``[B, C, L]``: 0 on the article and what ends it, 1 on the option and what ends it, 2 on a
                class token at the end. The model tells the two apart by them, also where the encoder reads none;
                only the encoder alone does without.
            labels: ``[B]``, the number of the right option; -100 for a question to be ignored.
            inputs_embeds: ``[B, C, L, D]``, in place of `input_ids`.
            output_attentions: return the backbone's attention weights and those of the co-attention.
            output_hidden_states: return the backbone's hidden states.
            num_items_in_batch: questions in the whole batch, over devices and accumulation steps; given by `Trainer`.
            **kwargs: handed to the backbone.

        Returns:
            `AbstractClozeOutput`, or a tuple of its fields with `return_dict=False`.

        Raises:
            ValueError: for input of another shape, without token types, with an option that has no piece of its own,
                or a label that names none of its question's options (not in compiled code, which cannot look).
        """
        if output_attentions is None:
            output_attentions = self.config.output_attentions
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        shape = _shape(input_ids, inputs_embeds)
        options = self._flatten(shape, input_ids, attention_mask, token_type_ids, inputs_embeds)
        segments = self._segments(shape, options)
        rows = None if output_attentions or output_hidden_states else _rows_to_read(options.is_option)
        encoded = self.encode(
            **{name: _rows(values, rows) for name, values in options.inputs.items()},
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            **kwargs,
        )
        if self.co_attention is None or segments is None:
            features, read = self.dropout(self.pool(encoded, _rows(options.real, rows))), None
        else:
            article_mask, option_mask = (_rows(mask, rows) for mask in segments)
            lengths = _longest(article_mask), _longest(option_mask)
            read = self.co_attention(encoded.last_hidden_state, article_mask, option_mask, lengths, output_attentions)
            features = read.features
        scores = self._classify(features)
        if rows is not None:
            scores = scores.new_zeros(options.is_option.shape).index_copy(0, rows, scores)
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
            **(_explained(read, options.order, shape) if read is not None and output_attentions else {}),
        )

    def _classify(self, features: Tensor) -> Tensor:
        """One logit a row, in float32 at least: in lower precision, options tie that differ."""
        dtype = torch.promote_types(features.dtype, torch.float32)
        with torch.autocast(features.device.type, enabled=False):
            weight, bias = self.option_classifier.weight.to(dtype), self.option_classifier.bias.to(dtype)
            return linear(features.to(dtype), weight, bias).squeeze(-1)

    def _flatten(
        self,
        shape: torch.Size,
        input_ids: Tensor | None,
        attention_mask: Tensor | None,
        token_type_ids: Tensor | None,
        inputs_embeds: Tensor | None,
    ) -> _Options:
        """Make rows of the options and bring the padding of each to one side.

        Some encoders count positions from the start of a row, and some poolers look for the class token at one end.
        """
        device = (input_ids if input_ids is not None else inputs_embeds).device  # type: ignore[union-attr]
        if token_type_ids is not None and token_type_ids.shape != shape:
            raise ValueError(f"token_type_ids have shape {tuple(token_type_ids.shape)}; the input's is {tuple(shape)}")
        real = as_mask(attention_mask, shape, device, default=True).flatten(0, 1)
        later = ~real if self.padding_side == "right" else real
        order = torch.argsort(later.to(torch.uint8), dim=1, stable=True)
        real = real.gather(1, order)
        inputs: dict[str, Tensor | None] = {"input_ids": None, "token_type_ids": None, "inputs_embeds": None}
        for name, values in (("input_ids", input_ids), ("token_type_ids", token_type_ids)):
            if values is not None:
                inputs[name] = values.flatten(0, 1).gather(1, order)
        if inputs_embeds is not None:
            flat = inputs_embeds.flatten(0, 1)
            inputs["inputs_embeds"] = flat.gather(1, order.unsqueeze(-1).expand_as(flat))
        is_option = real.any(1)
        # What only pads the batch reads itself: a softmax over nothing may be NaN.
        readable = real | ~is_option.unsqueeze(1)
        inputs["attention_mask"] = None if attention_mask is None else readable.long()
        return _Options(real, is_option, order, inputs)

    def encode(self, *, token_type_ids: Tensor | None, **inputs: Any) -> Any:
        """Call the encoder, without token types where it has fewer than two."""
        known = getattr(self.config, "type_vocab_size", None)
        return super().encode(token_type_ids=token_type_ids if known is None or known > 1 else None, **inputs)

    def _segments(self, shape: torch.Size, options: _Options) -> tuple[Tensor, Tensor] | None:
        """The masks ``[B * C, L]`` of article and option; None for the encoder alone."""
        if self.co_attention is None:
            return None
        token_types = options.inputs["token_type_ids"]
        if token_types is None:
            raise ValueError(
                "token_type_ids are missing: they tell article (0) and option (1) apart, and "
                "clozeformers.abstract_cloze.collator.ClozeCollator makes them for every encoder"
            )
        article_mask, option_mask = segment_masks(token_types, options.real, self.article_separators)
        if values_are_known(option_mask):
            missing = (options.is_option & ~option_mask.any(1)).nonzero()
            if len(missing):
                question, option = divmod(int(missing[0]), shape[1])
                raise ValueError(
                    f"option {option} of question {question} has no piece of its own: token_type_ids must be 1 on the "
                    "option, its definitions and the separator that ends them, as ClozeCollator makes them"
                )
        return article_mask, option_mask


def _shape(input_ids: Tensor | None, inputs_embeds: Tensor | None) -> torch.Size:
    """``[B, C, L]`` of the input; a ValueError if it is not that."""
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("give either input_ids or inputs_embeds")
    name, given, dimensions = (
        ("input_ids", input_ids, 3) if input_ids is not None else ("inputs_embeds", inputs_embeds, 4)
    )
    if given.dim() != dimensions:  # type: ignore[union-attr]
        raise ValueError(
            f"{name} have shape {tuple(given.shape)}; an abstract cloze model reads all options of each question, "  # type: ignore[union-attr]
            "[questions, options, pieces]: for the options of a single question, add a dimension with .unsqueeze(0)"
        )
    return given.shape[:3]  # type: ignore[union-attr]


def _rows_to_read(is_option: Tensor) -> Tensor | None:
    """The numbers of the rows that are options; None for all, and where they cannot be known."""
    if not values_are_known(is_option):
        return None
    rows = is_option.nonzero().squeeze(1)
    return rows if 0 < len(rows) < len(is_option) else None


def _rows(values: Tensor | None, rows: Tensor | None) -> Any:
    return values if rows is None or values is None else values[rows]


def _longest(mask: Tensor) -> int:
    """Positions to reserve for a segment: as many as the batch needs; in compiled code, as many as there are."""
    if not values_are_known(mask):
        return mask.size(1)
    return max(int(mask.sum(1).max()), 1) if mask.numel() else 1


def _explained(read: CoAttentionFeatures, order: Tensor, shape: torch.Size) -> dict[str, Any]:
    """The co-attention's weights, and where in the input the pieces stand that they tell of."""

    def in_input(positions: Tensor) -> Tensor:
        return order.gather(1, positions.clamp(min=0)).masked_fill(positions < 0, -1).unflatten(0, shape[:2])

    return {
        "article_attentions": tuple(weights.unflatten(0, shape[:2]) for weights in read.article_weights),
        "option_attentions": tuple(weights.unflatten(0, shape[:2]) for weights in read.option_weights),
        "article_positions": in_input(read.article_positions),
        "option_positions": in_input(read.option_positions),
    }


def check_labels(labels: Tensor, is_option: Tensor) -> None:
    """Raise a ValueError if a label names no option; in compiled code, which cannot look, only for a wrong shape.

    Args:
        labels: ``[B]``.
        is_option: ``[B, C]``, boolean, False for what only pads the batch.
    """
    if labels.shape != is_option.shape[:1]:
        raise ValueError(
            f"labels have shape {tuple(labels.shape)}; there are {is_option.size(0)} questions, with one each"
        )
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise ValueError(f"labels are of type {labels.dtype}; give the numbers of the right options, as torch.long")
    if not values_are_known(labels):
        return
    inside = (labels >= 0) & (labels < is_option.size(1))
    names_one = inside & is_option.gather(1, labels.where(inside, 0).unsqueeze(1)).squeeze(1)
    wrong = (~names_one & (labels != IGNORED_LABEL)).nonzero()
    if len(wrong):
        question = int(wrong[0])
        raise ValueError(
            f"the label of question {question} is {int(labels[question])}, but its options are 0 to "
            f"{int(is_option[question].sum()) - 1}; {IGNORED_LABEL} leaves a question out of the loss"
        )


def option_loss(logits: Tensor, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
    """Negative log-likelihood of the right options.

    Args:
        logits: ``[B, C]``.
        labels: ``[B]``; -100 for none.
        num_items_in_batch: what to divide the sum by; None for the number of labels here.

    Returns:
        A scalar; zero, not NaN, where nothing is labelled.
    """
    scores = log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    total = nll_loss(scores, labels.long(), ignore_index=IGNORED_LABEL, reduction="sum")
    if num_items_in_batch is None:
        num_items_in_batch = (labels != IGNORED_LABEL).sum().clamp(min=1)
    return total / num_items_in_batch


class AlbertWithWNDuma(WNDumaMixin, AlbertBackbone):
    """ALBERT with co-attention: the model of the paper.

    `AlbertWithWNDuma.from_pretrained("albert/albert-xxlarge-v2")` loads the backbone and makes a new head;
    `co_attention="parallel"` is DUMA, `num_co_attention_layers=0` the encoder alone.
    """

    config_class = AlbertWNDumaConfig
    config: AlbertWNDumaConfig
    pooled_dropouts = ("classifier_dropout_prob",)


class BertWithWNDuma(WNDumaMixin, BertBackbone):
    """BERT with co-attention."""

    config_class = BertWNDumaConfig
    config: BertWNDumaConfig
    pooled_dropouts = ("classifier_dropout", "hidden_dropout_prob")


class RobertaWithWNDuma(WNDumaMixin, RobertaBackbone):
    """RoBERTa with co-attention."""

    config_class = RobertaWNDumaConfig
    config: RobertaWNDumaConfig
    article_separators = 2
    pooled_dropouts = ("hidden_dropout_prob",)


class DebertaV2WithWNDuma(WNDumaMixin, DebertaV2Backbone):
    """DeBERTa v2 and v3 with co-attention."""

    config_class = DebertaV2WNDumaConfig
    config: DebertaV2WNDumaConfig
    pooled_dropouts = ("cls_dropout", "hidden_dropout_prob")

    def build_pooler(self, config: DebertaV2WNDumaConfig) -> None:
        """Make the pooler that DeBERTa's models for whole texts have."""
        self.pooler = ContextPooler(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Read the class token."""
        return self.pooler(encoded.last_hidden_state)


class XLNetWithWNDuma(WNDumaMixin, XLNetBackbone):
    """XLNet with co-attention."""

    config_class = XLNetWNDumaConfig
    config: XLNetWNDumaConfig
    padding_side = "left"  # its class token comes last

    def build_pooler(self, config: XLNetWNDumaConfig) -> None:
        """Make the summary that XLNet's models for whole texts have, which brings its own dropout."""
        self.sequence_summary = XLNetSequenceSummary(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Read the class token."""
        return self.sequence_summary(encoded.last_hidden_state)


class ModernBertWithWNDuma(WNDumaMixin, ModernBertBackbone):
    """ModernBERT with co-attention."""

    config_class = ModernBertWNDumaConfig
    config: ModernBertWNDumaConfig
    pooled_dropouts = ("classifier_dropout",)

    def build_pooler(self, config: ModernBertWNDumaConfig) -> None:
        """Make the head that ModernBERT's models for whole texts have."""
        self.head = ModernBertPredictionHead(config)

    def pool(self, encoded: Any, real: Tensor) -> Tensor:
        """Read the class token, or the mean over all pieces, as the config says."""
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
