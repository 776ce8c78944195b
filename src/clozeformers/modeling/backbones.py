"""The encoders below the heads, and what both heads share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import (
    AlbertModel,
    AlbertPreTrainedModel,
    BertModel,
    BertPreTrainedModel,
    DebertaV2Model,
    DebertaV2PreTrainedModel,
    ModernBertModel,
    ModernBertPreTrainedModel,
    PreTrainedModel,
    RobertaModel,
    RobertaPreTrainedModel,
    XLNetModel,
    XLNetPreTrainedModel,
)
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.models.albert.modeling_albert import AlbertLayer
from transformers.models.xlnet.modeling_xlnet import XLNetLayer

from .checkpoints import CheckpointMixin


class BackboneMixin(CheckpointMixin):
    """Base of the heads' mixins and of the encoder classes below.

    A model has two bases: a head's mixin, and an encoder class of this module or, if it sets `backbone_class` itself,
    the encoder's `PreTrainedModel`.
    """

    backbone_class: ClassVar[type[PreTrainedModel]]
    backbone_has_pooler: ClassVar[bool] = True
    backbone_reads_token_types: ClassVar[bool] = True
    backbone_kwargs: ClassVar[dict[str, Any]] = {}
    supports_gradient_checkpointing = True
    # The heads divide the loss by the number of items in the whole (accumulated, distributed) batch.
    accepts_loss_kwargs = True

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> PreTrainedModel:
        """Build the encoder, by default without its pooler."""
        return self.backbone_class(
            config, **{"add_pooling_layer": add_pooling_layer} if self.backbone_has_pooler else {}
        )

    def wanted_outputs(self, attentions: bool | None, hidden_states: bool | None) -> tuple[bool, bool]:
        """Resolve `output_attentions` and `output_hidden_states`: None for what the config says."""
        config = self.config
        return (
            bool(config.output_attentions if attentions is None else attentions),
            bool(config.output_hidden_states if hidden_states is None else hidden_states),
        )

    def encode(self, *, token_type_ids: Tensor | None, **inputs: Any) -> Any:
        """Call the encoder, without `token_type_ids` if it takes none."""
        if self.backbone_reads_token_types:
            inputs["token_type_ids"] = token_type_ids
        return self.base_model(return_dict=True, **self.backbone_kwargs, **inputs)


def as_mask(mask: Tensor | None, shape: torch.Size, device: torch.device, default: bool) -> Tensor:
    """Return a boolean mask: `mask`, or `default` everywhere; raise a ValueError if `mask` has another shape."""
    if mask is None:
        return torch.full(shape, default, dtype=torch.bool, device=device)
    if mask.shape != shape:
        raise ValueError(f"a mask has shape {tuple(mask.shape)}; the input's is {tuple(shape)}")
    return mask.to(torch.bool)


class CheckpointedXLNetLayer(GradientCheckpointingLayer, XLNetLayer):
    """XLNet's layer with gradient checkpointing, which transformers lacks."""


class CheckpointedAlbertLayer(GradientCheckpointingLayer, AlbertLayer):
    """ALBERT's layer with gradient checkpointing, which transformers lacks."""


class XLNetBackbone(BackboneMixin, XLNetPreTrainedModel):
    """XLNet."""

    backbone_class = XLNetModel
    _no_split_modules: ClassVar[list[str]] = ["CheckpointedXLNetLayer"]
    backbone_kwargs: ClassVar[dict[str, Any]] = {"use_mems": False}  # memories are for language modelling

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> XLNetModel:
        """Build XLNet, which has no pooler, with gradient checkpointing."""
        backbone = XLNetModel(config)
        backbone.layer = nn.ModuleList(CheckpointedXLNetLayer(config) for _ in range(config.n_layer))
        # XLNet creates some parameters in float32 whatever the `dtype` of `from_pretrained`.
        return backbone.to(torch.get_default_dtype())

    def encode(self, *, token_type_ids: Tensor | None, **inputs: Any) -> Any:
        """As the base class; XLNet subtracts the mask from 1.0, which ONNX export allows for a mask of floats only."""
        if inputs["attention_mask"] is not None:
            inputs["attention_mask"] = inputs["attention_mask"].to(self.dtype)
        return super().encode(token_type_ids=token_type_ids, **inputs)


class BertBackbone(BackboneMixin, BertPreTrainedModel):
    """BERT."""

    backbone_class = BertModel


class RobertaBackbone(BackboneMixin, RobertaPreTrainedModel):
    """RoBERTa."""

    backbone_class = RobertaModel


class AlbertBackbone(BackboneMixin, AlbertPreTrainedModel):
    """ALBERT."""

    backbone_class = AlbertModel
    _no_split_modules: ClassVar[list[str]] = ["CheckpointedAlbertLayer"]

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> AlbertModel:
        """Build ALBERT with gradient checkpointing."""
        backbone = AlbertModel(config, add_pooling_layer=add_pooling_layer)
        for group in backbone.encoder.albert_layer_groups:
            group.albert_layers = nn.ModuleList(CheckpointedAlbertLayer(config) for _ in range(config.inner_group_num))
        return backbone


class DebertaV2Backbone(BackboneMixin, DebertaV2PreTrainedModel):
    """DeBERTa v2 and v3."""

    backbone_class = DebertaV2Model
    _no_split_modules: ClassVar[list[str]] = ["DebertaV2Layer"]
    backbone_has_pooler = False


class ModernBertBackbone(BackboneMixin, ModernBertPreTrainedModel):
    """ModernBERT."""

    backbone_class = ModernBertModel
    backbone_has_pooler = False
    backbone_reads_token_types = False
