"""BiDAF and its variants: recurrent layers before and after an attention between question and context.

Sources: Seo et al., "Bidirectional Attention Flow for Machine Comprehension" (2016); Jain & Dutta, "You Just Want
Attention"; Khullar, "Allow me to answer"; Deng & Huang, "Bi-Directional Attention & Self Attention for SQUAD".
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from .configuration_bidaf import BiDAFConfig
from .context_query_attention import build_attention
from .modeling_word_reader import ReaderOutput, WordReaderForQuestionAnswering
from .recurrent import BidirectionalRNN, is_plain
from .span_decoding import rescore_log_probs


class BiDAFForQuestionAnswering(WordReaderForQuestionAnswering):
    """BiDAF and its variants, with a span head."""

    config_class = BiDAFConfig
    config: BiDAFConfig
    _no_split_modules = ("WordEmbeddings", "BidirectionalRNN")

    def __init__(self, config: BiDAFConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.encoder = BidirectionalRNN(config.rnn, self.input_size, size, dropout=config.dropout)
        self.attention = build_attention(
            config.attention,
            self.encoder.output_size,
            num_heads=config.num_attention_heads,
            rnn_size=size,
            rnn=config.rnn,
            dropout=config.dropout,
        )
        attended = self.attention.output_size
        self.modeling: nn.Module
        if config.modeling == "dense":
            self.modeling, modeling_size = nn.Linear(attended, size), size
        else:
            self.modeling = BidirectionalRNN(config.rnn, attended, size, num_layers=2, dropout=config.dropout)
            modeling_size = self.modeling.output_size
        self.end_rnn: BidirectionalRNN | None = None
        read_size, end_size = modeling_size, modeling_size
        if config.output != "linear":
            self.end_rnn = BidirectionalRNN(config.rnn, modeling_size, size, dropout=config.dropout)
            read_size = attended + modeling_size
            end_size = attended + self.end_rnn.output_size + (config.output == "conditional")
        self.start = nn.Linear(read_size, 1, bias=False)
        self.end = nn.Linear(end_size, 1, bias=False)
        self.post_init()

    def compute_logits(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        output_attentions: bool,
    ) -> ReaderOutput:
        """As the base class; the layers after the attention are the modeling layer and that of the end, if any."""
        context = self.encoder(context, context_mask)
        question = self.encoder(question, question_mask)
        read, weights = self.attend(context, question, context_mask, question_mask, output_attentions)
        if isinstance(self.modeling, BidirectionalRNN):
            modeled = self.modeling(read, context_mask)
        else:
            modeled = self.modeling(self._dropout(read)).relu()
        states: list[tuple[Tensor, Tensor | None]] = [(context, question), (read, None), (modeled, None)]
        if self.end_rnn is None:
            modeled = self._dropout(modeled)
            start, end = self.start(modeled), self.end(modeled)
        else:
            read = self._dropout(read)
            start = linear_of_parts(self.start, read, self._dropout(modeled))
            ending = self.end_rnn(modeled, context_mask)
            states.append((ending, None))
            conditions = [start] if self.config.output == "conditional" else []
            end = linear_of_parts(self.end, *conditions, read, self._dropout(ending))
        return ReaderOutput(start.squeeze(-1), end.squeeze(-1), tuple(states), weights)

    def _dropout(self, inputs: Tensor) -> Tensor:
        return dropout(inputs, self.config.dropout, self.training)

    def rescore(self, start: Tensor, end: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Rescore the words by `config.span_rescoring`; the no-answer position has a single span."""
        if self.config.span_rescoring == "none" or mask.size(1) < 2:
            return start, end
        start, end = (
            x.to(torch.promote_types(x.dtype, torch.float32)).masked_fill(~mask, float("-inf")).log_softmax(-1)
            for x in (start, end)
        )
        none = start[:, :1] + end[:, :1]
        starts, ends = rescore_log_probs(start[:, 1:], end[:, 1:], self.config.span_rescoring)
        return torch.cat([none, starts], dim=1), torch.cat([none, ends], dim=1)


def linear_of_parts(layer: nn.Module, *parts: Tensor) -> Tensor:
    """``layer(torch.cat(parts, dim=-1))`` for a layer without bias; wide parts are not copied if that is possible."""
    if not (isinstance(layer, nn.Linear) and is_plain(layer, parts[0])):
        outputs: Tensor = layer(torch.cat(parts, dim=-1))
        return outputs
    weights = layer.weight.split([part.size(-1) for part in parts], dim=-1)
    return torch.stack([linear(part, weight) for part, weight in zip(parts, weights, strict=True)]).sum(0)
