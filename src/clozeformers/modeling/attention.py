"""Query-context attention: the contract of all mechanisms, and the registry of their names.

A query (a negation cue, a question, an option) reads a context (a sentence, a passage, an article). A mechanism returns
one query-aware vector for each context position, and keeps three laws:

1. padding, of the context or of the query, changes nothing;
2. the order of the examples in a batch changes nothing;
3. an example without any query position gives finite values and finite gradients.
"""

from __future__ import annotations

from difflib import get_close_matches

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import initialization as init


class QueryContextAttention(nn.Module):
    """Base class of all query-context attentions; a subclass defines `forward`, or `attend` for both.

    `build_attention` calls the class with the width of context and query, and with those of its options that the
    constructor names. A submodule with parameters of its own names its ``fan_in``; models initialise it with
    U(-1/sqrt(fan_in), 1/sqrt(fan_in)).

    Attributes:
        output_size: width of the output.
    """

    output_size: int

    @classmethod
    def check_size(cls, size: int, num_heads: int) -> None:
        """Raise a ValueError if the mechanism cannot have this width and number of heads."""

    def forward(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> Tensor:
        """Let the query read the context.

        Args:
            context: ``[B, M, D]``.
            query: ``[B, N, D]``.
            context_mask: ``[B, M]``, boolean, True at real positions.
            query_mask: ``[B, N]``, boolean, True at real positions; a row may be all False.

        Returns:
            ``[B, M, output_size]``, with finite values of no meaning at padded context positions.
        """
        return self.attend(context, query, context_mask, query_mask)[0]

    def attend(self, context: Tensor, query: Tensor, context_mask: Tensor, query_mask: Tensor) -> tuple[Tensor, Tensor]:
        """As `forward`, with the attention weights ``[B, H, M, N]`` beside the output (H is 1 without heads)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(...), or attend(...) to return weights")


ATTENTIONS: dict[str, type[QueryContextAttention]] = {}


def register_attention(name: str, attention: type[QueryContextAttention]) -> None:
    """Make a mechanism available to configs and recipes by name.

    Args:
        name: value of the config fields `attention_variant` (negation scope) and `attention` (word-level readers).
        attention: the mechanism.

    Raises:
        ValueError: if the name belongs to another class.
    """
    known = ATTENTIONS.get(name, attention)
    # A class is registered again, as a new object, when its module or notebook cell is run again.
    if (known.__module__, known.__qualname__) != (attention.__module__, attention.__qualname__):
        raise ValueError(
            f"attention {name!r} is registered already, for {known.__qualname__}; choose a name other than "
            f"{', '.join(sorted(ATTENTIONS))}"
        )
    ATTENTIONS[name] = attention


def attention_class(name: str) -> type[QueryContextAttention]:
    """Look up a mechanism; raise a ValueError if the name is unknown."""
    if name not in ATTENTIONS:
        names = {known.lower(): known for known in sorted(ATTENTIONS)}
        similar = [names[match] for match in get_close_matches(str(name).lower(), names, n=2)]
        suggested = f"did you mean {' or '.join(similar)}? " if similar else ""
        raise ValueError(f"unknown attention {name!r:.80}; {suggested}known are {', '.join(names.values())}")
    return ATTENTIONS[name]


def check_heads(size: int, num_heads: int) -> None:
    """Raise a ValueError, with the numbers that would do, if the heads do not divide the width."""
    divisors = [heads for heads in range(1, size + 1) if size % heads == 0]
    if num_heads not in divisors:
        raise ValueError(f"{num_heads} heads do not divide the hidden size {size}; these would: {divisors}")


def init_fan_in(module: nn.Module) -> None:
    """Initialise a module's own parameters with U(-1/sqrt(fan_in), 1/sqrt(fan_in))."""
    bound = int(module.fan_in) ** -0.5  # type: ignore[arg-type]
    for parameter in module.parameters(recurse=False):
        init.uniform_(parameter, -bound, bound)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension with zero weight at masked positions.

    Args:
        scores: any shape.
        mask: boolean, broadcastable to ``scores``, True at real positions.

    Returns:
        Weights that sum to one in rows with a real position, and to zero in rows without.
    """
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) * mask


def split_heads(hidden_states: Tensor, num_heads: int) -> Tensor:
    """``[B, L, H * k] -> [B, H, L, k]``."""
    return hidden_states.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def self_attention(query_key_value: Tensor, mask: Tensor, num_heads: int) -> Tensor:
    """Multi-head self-attention, ``[B, M, 3 D]`` (projected) and a boolean mask ``[B, M]`` -> ``[B, M, D]``."""
    # A fully padded sequence attends to itself: the softmax of an empty set is NaN.
    mask = mask | ~mask.any(dim=1, keepdim=True)
    query, key, value = (split_heads(part, num_heads) for part in query_key_value.chunk(3, dim=-1))
    attended = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
    return attended.transpose(1, 2).flatten(2)
