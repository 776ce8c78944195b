"""The encoders that the heads stand on: how each is built and called."""

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


class BackboneMixin(PreTrainedModel):
    """Base of the heads' mixins, and of the classes below that bind an encoder for all of them.

    A model is a class of two bases: a head's mixin, and an encoder's class from this file or its `PreTrainedModel`. In
    the second case it names `backbone_class` itself.
    """

    backbone_class: ClassVar[type[PreTrainedModel]]
    backbone_reads_token_types: ClassVar[bool] = True
    backbone_kwargs: ClassVar[dict[str, Any]] = {}
    supports_gradient_checkpointing = True

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> PreTrainedModel:
        """Build the encoder, with its pooler only if asked for."""
        return self.backbone_class(config, add_pooling_layer=add_pooling_layer)

    def encode(self, *, token_type_ids: Tensor | None, **inputs: Any) -> Any:
        """Call the encoder; `token_type_ids` are dropped where it takes none."""
        if self.backbone_reads_token_types:
            inputs["token_type_ids"] = token_type_ids
        return self.base_model(return_dict=True, **self.backbone_kwargs, **inputs)


def as_mask(mask: Tensor | None, shape: torch.Size, device: torch.device, default: bool) -> Tensor:
    """A boolean mask of a given shape: `mask` if there is one, else `default` everywhere.

    Raises:
        ValueError: if the mask has another shape.
    """
    if mask is None:
        return torch.full(shape, default, dtype=torch.bool, device=device)
    if mask.shape != shape:
        raise ValueError(f"a mask has shape {tuple(mask.shape)}; the input's is {tuple(shape)}")
    return mask.to(torch.bool)


def values_are_known(tensor: Tensor) -> bool:
    """Whether a tensor's values can be looked at: not in code that is being compiled, nor on the meta device."""
    return not (torch.compiler.is_compiling() or tensor.is_meta)


class CheckpointedXLNetLayer(GradientCheckpointingLayer, XLNetLayer):
    """XLNet's layer with gradient checkpointing, which transformers' own lacks."""


class CheckpointedAlbertLayer(GradientCheckpointingLayer, AlbertLayer):
    """ALBERT's layer with gradient checkpointing, which transformers' own lacks."""


class XLNetBackbone(BackboneMixin, XLNetPreTrainedModel):
    """XLNet."""

    backbone_class = XLNetModel
    backbone_kwargs: ClassVar[dict[str, Any]] = {"use_mems": False}  # memories are for running text

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> XLNetModel:
        """Build XLNet, which has no pooler, with layers that can be checkpointed."""
        backbone = XLNetModel(config)
        backbone.layer = nn.ModuleList(CheckpointedXLNetLayer(config) for _ in range(config.n_layer))
        # XLNet makes some of its parameters in float32 whatever the type that `from_pretrained(dtype=...)` asks for.
        return backbone.to(torch.get_default_dtype())


class BertBackbone(BackboneMixin, BertPreTrainedModel):
    """BERT."""

    backbone_class = BertModel


class RobertaBackbone(BackboneMixin, RobertaPreTrainedModel):
    """RoBERTa."""

    backbone_class = RobertaModel


class AlbertBackbone(BackboneMixin, AlbertPreTrainedModel):
    """ALBERT."""

    backbone_class = AlbertModel

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> AlbertModel:
        """Build ALBERT with layers that can be checkpointed."""
        backbone = AlbertModel(config, add_pooling_layer=add_pooling_layer)
        for group in backbone.encoder.albert_layer_groups:
            group.albert_layers = nn.ModuleList(CheckpointedAlbertLayer(config) for _ in range(config.inner_group_num))
        return backbone


class DebertaV2Backbone(BackboneMixin, DebertaV2PreTrainedModel):
    """DeBERTa v2 and v3."""

    backbone_class = DebertaV2Model

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> DebertaV2Model:
        """Build DeBERTa, which has no pooler of its own."""
        return DebertaV2Model(config)


class ModernBertBackbone(BackboneMixin, ModernBertPreTrainedModel):
    """ModernBERT."""

    backbone_class = ModernBertModel
    backbone_reads_token_types = False

    def build_backbone(self, config: Any, add_pooling_layer: bool = False) -> ModernBertModel:
        """Build ModernBERT, which has no pooler of its own."""
        return ModernBertModel(config)
