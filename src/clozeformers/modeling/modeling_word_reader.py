"""Base class of QANet and BiDAF: splits the input into context and question, and maps span logits back to it.

The input is ``[CLS] question [SEP] context [SEP]``. Question and context are separated and packed, so that neither
encodes the other's padding. ``[CLS]`` comes before the context as the no-answer position of SQuAD 2.0.

Shapes: B batch, L input length, S packed positions (``[CLS]`` and context words), N question words, W characters of a
word, E width of the word vectors, D width of a layer, H heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, pad
from transformers import initialization as init
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming
from transformers.modeling_outputs import QuestionAnsweringModelOutput
from transformers.modeling_utils import LoadStateDictConfig
from transformers.utils import can_return_tuple

from .attention import QueryContextAttention, init_fan_in
from .checkpoints import CheckpointMixin
from .configuration_word_reader import NUM_SPECIAL_TOKENS, QUESTION_WORDS, WordReaderConfig
from .embeddings import WordEmbeddings
from .losses import span_loss
from .packing import longest, pack

NUM_WORD_FEATURES = 3


class ReaderOutput(NamedTuple):
    """What a reader makes of packed word vectors.

    Attributes:
        start: ``[B, S]``, start logits.
        end: ``[B, S]``, end logits.
        states: of each layer: context ``[B, S, D]``, and question ``[B, N, D]`` up to the attention, None after it.
        attention: ``[B, H, S, N]``, attention of the context to the question; None unless asked for.
    """

    start: Tensor
    end: Tensor
    states: tuple[tuple[Tensor, Tensor | None], ...]
    attention: Tensor | None


class WordReaderForQuestionAnswering(CheckpointMixin):
    """Base class: a subclass defines `compute_logits`, from word vectors to start and end logits.

    Attributes:
        input_size: width of the vectors that `compute_logits` is given.
    """

    base_model_prefix = ""
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _no_split_modules: Any = ()
    embeddings: WordEmbeddings
    attention: QueryContextAttention
    inverse_document_frequency: Tensor
    is_question_word: Tensor

    def __init__(self, config: WordReaderConfig) -> None:
        super().__init__(config)
        self.embeddings = WordEmbeddings(config)
        self.input_size = self.embeddings.output_size
        if config.word_features:
            self.input_size += NUM_WORD_FEATURES
            self.register_buffer("inverse_document_frequency", torch.zeros(config.vocab_size))
            self.register_buffer("is_question_word", torch.zeros(config.vocab_size))

    def post_init(self) -> None:
        """As the base class; the attention, which may be a user's, stays on one device."""
        self._no_split_modules = [*self._no_split_modules, type(self.attention).__name__]
        super().post_init()

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """As `PreTrainedModel.from_pretrained`; frozen word vectors stay frozen."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if not model.config.train_word_vectors:
            # Loading replaces the parameters by trainable ones.
            model.get_input_embeddings().weight.requires_grad = False
        return loaded

    def load_adapter(self, *args: Any, load_config: LoadStateDictConfig | None = None, **kwargs: Any) -> Any:
        """As `PreTrainedModel.load_adapter`.

        PEFT removes the prefix ``base_model.model.model.`` by a pattern whose dots match any character, so that it
        reads ``base_model.model.model_encoder`` as ``model.encoder``; the names of such layers are restored here.
        """
        load_config = load_config or LoadStateDictConfig()
        prefix = "model"
        restored = [
            WeightRenaming(rf"^{prefix}\.{name[len(prefix) + 1 :]}\.", f"{name}.")
            for name, _ in self.named_children()
            if name.startswith(prefix)
        ]
        conversions = load_config.weight_mapping or get_model_conversion_mapping(self)
        return super().load_adapter(
            *args, load_config=replace(load_config, weight_mapping=[*conversions, *restored]), **kwargs
        )

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the word vectors; those of the special tokens, which are trained, are a separate parameter."""
        return self.embeddings.word_vectors

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the word vectors, frozen or not by `config.train_word_vectors`."""
        value.weight.requires_grad = self.config.train_word_vectors
        self.embeddings.word_vectors = value

    @torch.no_grad()
    def set_word_vectors(self, word_ids: Iterable[int], vectors: Tensor) -> None:
        """Set the vectors of some words, ``[number of words, word_embedding_size]``; ValueError for another size."""
        size = self.config.word_embedding_size
        if vectors.ndim != 2 or vectors.size(1) != size:
            raise ValueError(
                f"the vectors have shape {tuple(vectors.shape)}, but this model's words have {size} dimensions; build "
                f"it with word_embedding_size={vectors.size(-1)}"
            )
        weight = self.embeddings.word_vectors.weight
        weight[torch.as_tensor(list(word_ids), device=weight.device)] = vectors.to(weight)

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
            raise ValueError("this model has no word features; build it with word_features=True in its config")
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

    def _with_features(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        context_ids: Tensor,
        question_ids: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Append the word features to the vectors of both texts, if the model has any."""
        if not self.config.word_features:
            return context, question
        is_word = (context_ids >= NUM_SPECIAL_TOKENS) & context_mask
        both = (context_ids.unsqueeze(2) == question_ids.unsqueeze(1)) & is_word.unsqueeze(2)
        both &= question_mask.unsqueeze(1)
        of_context = self._features(context_ids, both.any(2)).to(context.dtype)
        of_question = self._features(question_ids, both.any(1)).to(question.dtype)
        return torch.cat([context, of_context], dim=-1), torch.cat([question, of_question], dim=-1)

    def _features(self, word_ids: Tensor, in_other_text: Tensor) -> Tensor:
        """``[B, L]`` -> ``[B, L, 3]``."""
        idf = self.inverse_document_frequency[word_ids]
        return torch.stack([idf, self.is_question_word[word_ids], in_other_text.to(idf.dtype)], dim=-1)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if module is self and self.config.word_features:
            init.zeros_(self.inverse_document_frequency)
            init.zeros_(self.is_question_word)
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                init_weight = init.orthogonal_ if "weight_hh" in name else init.xavier_uniform_
                (init.zeros_ if "bias" in name else init_weight)(parameter)
        elif isinstance(module, WordEmbeddings):
            init.normal_(module.special_vectors, std=0.1)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=0.1)
            # A slice does not know that its tensor was loaded.
            if module.padding_idx is not None and not getattr(module.weight, "_is_hf_initialized", False):
                init.zeros_(module.weight[module.padding_idx])
        elif hasattr(module, "fan_in"):
            init_fan_in(module)
        else:
            super()._init_weights(module)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        char_ids: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Score every position of ``[CLS] question [SEP] context [SEP]`` as start and end of the answer.

        Args:
            input_ids: ``[B, L]``, ``[CLS]`` first, padding last.
            attention_mask: ``[B, L]``, 1 at real tokens; None: all but the padding token.
            token_type_ids: ``[B, L]``, 1 on ``context [SEP]``; None: everything after the first ``[SEP]``.
            char_ids: ``[B, L, W]``, from a `WordCharTokenizer`; for models with characters.
            start_positions: ``[B]``, the answer's first position, 0 for no answer; ignored outside the context.
            end_positions: likewise, its last position.
            inputs_embeds: ``[B, L, E]``, in place of `get_input_embeddings()(input_ids)`; special tokens and unknown
                words, by `input_ids`, keep the model's vectors. Without `input_ids`, which word features need, the
                special tokens are the first and the last of question and context by `token_type_ids`.
            output_hidden_states: return hidden states; None: as `config.output_hidden_states`.
            output_attentions: return attentions; None: as `config.output_attentions`.
            **kwargs: ignored.

        Returns:
            Start and end logits ``[B, L]``, the dtype's minimum outside ``[CLS]`` and context; with positions, the
            loss: the mean of both cross-entropies. `hidden_states`: ``[B, L, D]`` each: words with their characters,
            encoder, attention, then the layers after it, of ``[CLS]`` and context only; zero at other positions.
            `attentions`: one tensor ``[B, H, L, L]``, the attention of context position i to question position j.

        Raises:
            ValueError: for inputs of other shapes.
        """
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        if output_attentions is None:
            output_attentions = self.config.output_attentions
        if input_ids is None:
            input_ids = self._special_ids(inputs_embeds, attention_mask, token_type_ids)
        _check_shapes(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        real = (input_ids != self.config.pad_token_id) if attention_mask is None else attention_mask.to(torch.bool)
        is_context, is_question = self._parts(input_ids, real, token_type_ids)
        words, word_numbers = self.embeddings(input_ids, char_ids, inputs_embeds)
        context_at, question_at = (pack(mask)[0][:, : longest(mask)] for mask in (is_context, is_question))
        context_mask, question_mask = is_context.gather(1, context_at), is_question.gather(1, question_at)
        context, question = (
            embedding(word_numbers.gather(1, positions), words) for positions in (context_at, question_at)
        )
        ids = (input_ids.gather(1, context_at), input_ids.gather(1, question_at))
        read_parts = self._with_features(context, question, context_mask, question_mask, *ids)
        output = self.compute_logits(*read_parts, context_mask, question_mask, output_attentions)
        start, end = output.start, output.end
        loss = None
        if start_positions is not None and end_positions is not None:
            starts, ends = (unpack(logits, context_mask, context_at, real) for logits in (start, end))
            loss = span_loss(starts, ends, is_context, start_positions, end_positions)
        if not self.training:
            start, end = self.rescore(start, end, context_mask)
        return QuestionAnsweringModelOutput(
            loss=loss,
            start_logits=unpack(start, context_mask, context_at, real),
            end_logits=unpack(end, context_mask, context_at, real),
            hidden_states=tuple(
                spread(of_context, context_mask, context_at, real)
                + (0 if of_question is None else spread(of_question, question_mask, question_at, real))
                for of_context, of_question in ((context, question), *output.states)
            )
            if output_hidden_states
            else None,
            attentions=None
            if output.attention is None
            else (spread_attention(output.attention, context_mask, context_at, question_mask, question_at, real),),
        )

    def _special_ids(
        self, inputs_embeds: Tensor | None, attention_mask: Tensor | None, token_type_ids: Tensor | None
    ) -> Tensor:
        """Return ids ``[B, L]`` of the special tokens by their place, and of some word elsewhere."""
        if inputs_embeds is None:
            raise ValueError("give input_ids or inputs_embeds")
        if self.config.word_features:
            raise ValueError("this model has word features, which input_ids tell: give them beside inputs_embeds")
        if token_type_ids is None:
            raise ValueError("inputs_embeds without input_ids need token_type_ids, 1 on the context and its separator")
        real = torch.ones_like(token_type_ids) if attention_mask is None else attention_mask
        parts = torch.where(real.to(torch.bool), token_type_ids, -1)
        is_last = parts != pad(parts[:, 1:], (0, 1), value=-1)
        ids = torch.full_like(token_type_ids, NUM_SPECIAL_TOKENS).masked_fill(is_last, self.config.sep_token_id)
        ids = ids.masked_fill(parts == -1, self.config.pad_token_id)
        return ids.masked_fill((real.cumsum(1) == 1) & (parts != -1), self.config.cls_token_id)

    def _parts(self, input_ids: Tensor, real: Tensor, token_type_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return boolean masks ``[B, L]`` of ``[CLS]`` and context, and of the question."""
        is_separator = input_ids == self.config.sep_token_id
        if token_type_ids is None:
            token_type_ids = (is_separator.cumsum(1) - is_separator.long() > 0).long()
        is_first = (real.cumsum(1) == 1) & real
        words = real & ~is_separator & ~is_first
        return (words & (token_type_ids == 1)) | is_first, words & (token_type_ids == 0)

    def compute_logits(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        output_attentions: bool,
    ) -> ReaderOutput:
        """Compute start and end logits ``[B, S]`` from word vectors.

        Args:
            context: ``[B, S, input_size]``, vectors of ``[CLS]`` and the context's words, with their features.
            question: ``[B, N, input_size]``.
            context_mask: ``[B, S]``, boolean; real positions come first.
            question_mask: ``[B, N]``, likewise.
            output_attentions: whether to return the attention.
        """
        raise NotImplementedError(f"{type(self).__name__} must define compute_logits(...)")

    def attend(
        self, context: Tensor, question: Tensor, context_mask: Tensor, question_mask: Tensor, output_attentions: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Let the question read the context: ``[B, S, D]``, and the weights ``[B, H, S, N]`` if asked for."""
        # Only `forward` is required of a mechanism.
        if output_attentions:
            return self.attention.attend(context, question, context_mask, question_mask)
        return self.attention(context, question, context_mask, question_mask), None

    def rescore(self, start: Tensor, end: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Change the logits ``[B, S]`` at prediction; the base class returns them unchanged."""
        return start, end


def _check_shapes(input_ids: Tensor, **others: Tensor | None) -> None:
    if input_ids.dim() != 2:
        raise ValueError(
            f"input_ids have shape {tuple(input_ids.shape)}, not [examples, words]; for a single example, add a "
            "dimension with .unsqueeze(0)"
        )
    shape = tuple(input_ids.shape)
    for name, values in others.items():
        if values is not None and values.shape != shape:
            raise ValueError(f"{name} has shape {tuple(values.shape)}; that of input_ids is {shape}")


def unpack(logits: Tensor, mask: Tensor, positions: Tensor, like: Tensor) -> Tensor:
    """Scatter logits ``[B, S]`` to their positions in ``[B, L]``; the dtype's minimum elsewhere."""
    nothing = torch.finfo(logits.dtype).min
    everywhere = logits.new_full(like.shape, nothing)
    return everywhere.scatter(1, positions, logits.masked_fill(~mask, nothing))


def spread(states: Tensor, mask: Tensor, positions: Tensor, like: Tensor) -> Tensor:
    """Scatter states ``[B, S, D]`` to their positions in ``[B, L, D]``; zero elsewhere."""
    everywhere = states.new_zeros(*like.shape, states.size(-1))
    return everywhere.scatter(1, positions.unsqueeze(-1).expand_as(states), states * mask.unsqueeze(-1))


def spread_attention(
    weights: Tensor, context_mask: Tensor, context_at: Tensor, question_mask: Tensor, question_at: Tensor, like: Tensor
) -> Tensor:
    """Scatter weights ``[B, H, S, N]`` to the positions of context and question in ``[B, H, L, L]``; zero elsewhere."""
    heads, context_length = weights.shape[1:3]
    rows = weights.flatten(1, 2).transpose(1, 2)  # [B, N, H * S]
    columns = spread(rows, question_mask, question_at, like).unflatten(2, (heads, context_length))  # [B, L, H, S]
    columns = columns.permute(0, 3, 2, 1).flatten(2)  # [B, S, H * L]
    return spread(columns, context_mask, context_at, like).unflatten(2, (heads, like.size(1))).transpose(1, 2)
