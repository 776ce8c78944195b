"""From the command line to a model: a new head on an encoder, or a model that has one."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from ..modeling.auto import AutoModelForNegationScope
from ..modeling.configuration_negation_scope import NegationScopeConfigMixin
from ..training.model_arguments import UNLIMITED, filled_in, head_config
from .arguments import NegationDataArguments, NegationModelArguments
from .windows import CUE_TOKEN, add_cue_token

# Of a new head, section 4 of the paper; a model that has one keeps its own.
NEW_HEAD = {"attention_variant": "OA-CA", "num_attention_blocks": 2, "num_block_heads": None, "head_dropout": 0.3}
NEW_INPUT = "augment"
NEW_MAX_LENGTH = 128


def resolve_arguments(
    model_args: NegationModelArguments, data_args: NegationDataArguments, is_trained: bool
) -> tuple[NegationModelArguments, NegationDataArguments]:
    """Fill in what was not given: from the model where it has a head, or else as in the paper.

    Args:
        model_args: which model.
        data_args: how its input is made.
        is_trained: whether the run trains; if not, the model must have its head.

    Returns:
        Both, complete.

    Raises:
        ValueError: if what was given contradicts the model's own head, or the input's length its encoder; or if
            there is no head and no training.
    """
    name, revision = model_args.model_name_or_path, model_args.revision
    config = head_config(name, revision, NegationScopeConfigMixin, is_trained, "a negation scope")
    own: dict[str, Any] = dict(NEW_HEAD, input=NEW_INPUT, max_length=NEW_MAX_LENGTH)
    if config is not None:
        own = {field: getattr(config, field) for field in NEW_HEAD}
        own["input"] = "normal" if config.cue_token is None else "augment"
        limit = AutoTokenizer.from_pretrained(name, revision=revision).model_max_length
        own["max_length"] = limit if limit < UNLIMITED else NEW_MAX_LENGTH
    model = None if config is None else name
    free = ("head_dropout", "max_length")
    return filled_in(model_args, own, model, free), filled_in(data_args, own, model, free)


def load_model(model_args: NegationModelArguments, data_args: NegationDataArguments) -> tuple[Any, Any]:
    """Load the model, with a new head where it has none, and a tokenizer that knows the cue token if one is used.

    Args:
        model_args: complete, as `resolve_arguments` returns them.
        data_args: likewise.

    Raises:
        ValueError: if `max_length` leaves no room for a word, or is more than the encoder's positions.
    """
    source = {"revision": model_args.revision}
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, **source)
    model = AutoModelForNegationScope.from_pretrained(
        model_args.model_name_or_path,
        **{field: getattr(model_args, field) for field in NEW_HEAD},
        cue_token=CUE_TOKEN if data_args.input == "augment" else None,
        **({"attn_implementation": model_args.attn_implementation} if model_args.attn_implementation else {}),
        **source,
    )
    if model.config.cue_token is not None and add_cue_token(tokenizer):
        model.resize_token_embeddings(len(tokenizer))
    length, least = data_args.max_length or NEW_MAX_LENGTH, tokenizer.num_special_tokens_to_add() + 2
    most = model.config.max_pieces
    if length < least or (most is not None and length > most):
        raise ValueError(
            f"--max_length is {length}; this encoder reads {least} to {most or 'any number of'} word pieces"
        )
    tokenizer.model_max_length = length  # saved with the model: the pipeline reads windows of this length
    return model, tokenizer
