"""BiDAF and its variants: recurrent layers before and after an attention between question and context.

Sources: Seo et al., "Bidirectional Attention Flow for Machine Comprehension" (2016); Jain & Dutta, "You Just Want
Attention"; Khullar, "Allow me to answer"; Deng & Huang, "Bi-Directional Attention & Self Attention for SQUAD".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear
from transformers import initialization as init

from .configuration_bidaf import BiDAFConfig
from .configuration_word_reader import NUM_SPECIAL_TOKENS, QUESTION_WORDS
from .context_query_attention import build_attention
from .embeddings import WordEmbeddings
from .modeling_word_reader import Reading, WordReaderForQuestionAnswering
from .recurrent import BidirectionalRNN, is_plain
from .span_decoding import rescore_log_probs

NUM_WORD_FEATURES = 3


class BiDAFForQuestionAnswering(WordReaderForQuestionAnswering):
    """BiDAF and its variants, with a span head."""

    config_class = BiDAFConfig
    config: BiDAFConfig
    inverse_document_frequency: Tensor
    is_question_word: Tensor
    _no_split_modules = ("WordEmbeddings", "BidirectionalRNN")

    def __init__(self, config: BiDAFConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embeddings = WordEmbeddings(config)
        width = self.embeddings.output_size
        if config.word_features:
            width += NUM_WORD_FEATURES
            self.register_buffer("inverse_document_frequency", torch.zeros(config.vocab_size))
            self.register_buffer("is_question_word", torch.zeros(config.vocab_size))
        self.encoder = BidirectionalRNN(config.rnn, width, size, dropout=config.dropout)
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

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if module is self and self.config.word_features:
            init.zeros_(self.inverse_document_frequency)
            init.zeros_(self.is_question_word)
        super()._init_weights(module)

    @torch.no_grad()
    def set_word_features(self, words: dict[str, int], contexts: Iterable[Iterable[int]]) -> None:
        """Compute the word features from the training data.

        Args:
            words: the vocabulary, word -> id.
            contexts: word ids of each training context; the inverse document frequency of a word is
                ``log(number of contexts / occurrences)`` (Deng & Huang, section 4).

        Raises:
            ValueError: if the model has no word features.
        """
        if not self.config.word_features:
            raise ValueError("this model has no word features; build it with BiDAFConfig(word_features=True)")
        counts: Counter[int] = Counter()
        documents = 0
        for documents, context in enumerate(contexts, start=1):  # noqa: B007
            counts.update(context)
        occurrences = torch.ones(self.config.vocab_size)
        if counts:
            occurrences[torch.tensor(list(counts))] = torch.tensor([float(count) for count in counts.values()])
        self.inverse_document_frequency.copy_(torch.log(max(documents, 1) / occurrences))
        self.is_question_word.zero_()
        self.is_question_word[[number for word, number in words.items() if word.lower() in QUESTION_WORDS]] = 1

    def resize_token_embeddings(self, *args: Any, **kwargs: Any) -> nn.Embedding:
        """As `PreTrainedModel`; new words get the features of words unseen in training."""
        resized: nn.Embedding = super().resize_token_embeddings(*args, **kwargs)
        if self.config.word_features:
            more = len(resized.weight) - len(self.inverse_document_frequency)
            unseen = self.inverse_document_frequency.max()
            extended = torch.cat([self.inverse_document_frequency, unseen.expand(max(more, 0))])
            self.inverse_document_frequency = extended[: len(resized.weight)]
            self.is_question_word = nn.functional.pad(self.is_question_word, (0, more))
        return resized

    def read(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        context_ids: Tensor,
        question_ids: Tensor,
        output_attentions: bool,
    ) -> Reading:
        """As the base class; the layers after the attention are the modeling layer and that of the end, if any."""
        if self.config.word_features:
            is_word = (context_ids >= NUM_SPECIAL_TOKENS) & context_mask
            both = (context_ids.unsqueeze(2) == question_ids.unsqueeze(1)) & is_word.unsqueeze(2)
            both &= question_mask.unsqueeze(1)
            context = torch.cat([context, self._features(context_ids, both.any(2))], dim=-1)
            question = torch.cat([question, self._features(question_ids, both.any(1))], dim=-1)
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
        return Reading(start.squeeze(-1), end.squeeze(-1), tuple(states), weights)

    def _special_ids(self, inputs_embeds: Tensor | None, *masks: Tensor | None) -> Tensor:
        if inputs_embeds is not None and self.config.word_features:
            raise ValueError("this model has word features, which input_ids tell: give them beside inputs_embeds")
        return super()._special_ids(inputs_embeds, *masks)

    def _features(self, word_ids: Tensor, in_other_text: Tensor) -> Tensor:
        """``[B, L]`` -> ``[B, L, 3]``."""
        idf = self.inverse_document_frequency[word_ids]
        return torch.stack([idf, self.is_question_word[word_ids], in_other_text.to(idf.dtype)], dim=-1)

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
