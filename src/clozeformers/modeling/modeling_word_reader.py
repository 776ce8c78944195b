"""What QANet and BiDAF have in common: from one sequence to context and question, and from span scores to an output.

The input is ``[CLS] question [SEP] context [SEP]``. Inside, question and context are taken apart and packed, so that no
work is spent on the other's padding. ``[CLS]`` stands at the head of the context as the no-answer slot of SQuAD 2.0.

Shapes: B batch, L input length, S slots (``[CLS]`` and context words), N question words, W characters of a word.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import QuestionAnsweringModelOutput
from transformers.utils import can_return_tuple

from .context_query_attention import TrilinearSimilarity
from .embeddings import WordEmbeddings

IGNORED = -100


def pack(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Bring the masked positions of each row to its front, in order.

    Args:
        values: ``[B, L]``.
        mask: ``[B, L]``, boolean.

    Returns:
        The values ``[B, S]``, a mask ``[B, S]`` of those that are real, and the positions ``[B, S]`` they came from. S
        is the largest number in the batch, at least 1.
    """
    length = max(int(mask.sum(1).max()), 1) if mask.numel() else 1
    positions = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)[:, :length]
    return values.gather(1, positions), mask.gather(1, positions), positions


class WordReaderForQuestionAnswering(PreTrainedModel):
    """Base class: a subclass defines `read`, from the words' vectors to start and end logits."""

    base_model_prefix = ""
    main_input_name = "input_ids"
    embeddings: WordEmbeddings

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """As `PreTrainedModel.from_pretrained`; fixed word vectors stay fixed."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        # Loading makes new parameters, all of which would be trained.
        model.set_input_embeddings(model.get_input_embeddings())
        return loaded

    def get_input_embeddings(self) -> nn.Embedding:
        """The word vectors; the rows of the special tokens are kept elsewhere, being trained."""
        return self.embeddings.word_vectors

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        """Replace the word vectors, fixed or not as the config says."""
        value.weight.requires_grad = self.config.train_word_vectors
        self.embeddings.word_vectors = value

    @torch.no_grad()
    def set_word_vectors(self, word_ids: Iterable[int], vectors: Tensor) -> None:
        """Put vectors read from a file in their rows.

        Args:
            word_ids: ids of the words, one a vector.
            vectors: ``[number of words, word_embedding_size]``.

        Raises:
            ValueError: if the vectors have another size than the model's.
        """
        size = self.config.word_embedding_size
        if vectors.ndim != 2 or vectors.size(1) != size:
            raise ValueError(
                f"the vectors have shape {tuple(vectors.shape)}, but this model's words have {size} dimensions; build "
                f"it with word_embedding_size={vectors.size(-1)}"
            )
        weight = self.embeddings.word_vectors.weight
        weight[torch.as_tensor(list(word_ids), device=weight.device)] = vectors.to(weight)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.Conv2d)):
            init.xavier_uniform_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase):
            for name, parameter in module.named_parameters():
                if "weight_hh" in name:
                    init.orthogonal_(parameter)
                elif "weight" in name:
                    init.xavier_uniform_(parameter)
                else:
                    init.zeros_(parameter)
        elif isinstance(module, WordEmbeddings):
            init.normal_(module.special_vectors, std=0.1)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=0.1)
            if module.padding_idx is not None:
                init.zeros_(module.weight[module.padding_idx])
        elif isinstance(module, TrilinearSimilarity):
            bound = module.product_weight.numel() ** -0.5
            init.uniform_(module.product_weight, -bound, bound)
        else:
            super()._init_weights(module)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        char_ids: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        **kwargs: Any,
    ) -> QuestionAnsweringModelOutput:
        """Score every position of ``[CLS] question [SEP] context [SEP]`` as start and end of the answer.

        Args:
            input_ids: ``[B, L]``, ``[CLS]`` first, padding last.
            attention_mask: ``[B, L]``, 1 at real tokens; None: all but the padding token.
            token_type_ids: ``[B, L]``, 1 on ``context [SEP]``; None: what stands after the first ``[SEP]``.
            char_ids: ``[B, L, W]``, as a `WordCharTokenizer` gives them; for models with characters.
            start_positions: ``[B]``, the answer's first position, 0 for no answer. A position outside the context is
                ignored, as transformers' own models ignore one outside the input.
            end_positions: ``[B]``, its last position.
            **kwargs: none is read.

        Returns:
            Start and end logits ``[B, L]``, the dtype's minimum outside ``[CLS]`` and context; with positions, the
            loss: the mean of both cross-entropies.

        Raises:
            ValueError: for inputs of other shapes.
        """
        _check_shapes(input_ids, char_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        real = (input_ids != self.config.pad_token_id) if attention_mask is None else attention_mask.to(torch.bool)
        is_context, is_question = self._parts(input_ids, real, token_type_ids)
        words, word_numbers = self.embeddings(input_ids, char_ids)
        context_words, context_mask, slots = pack(word_numbers, is_context)
        question_words, question_mask, places = pack(word_numbers, is_question)
        start, end = self.read(
            embedding(context_words, words),
            embedding(question_words, words),
            context_mask,
            question_mask,
            input_ids.gather(1, slots),
            input_ids.gather(1, places),
        )
        loss = None
        if start_positions is not None and end_positions is not None:
            starts, ends = (unpack(logits, context_mask, slots, real) for logits in (start, end))
            loss = span_loss(starts, ends, is_context, start_positions, end_positions)
        if not self.training:
            start, end = self.rescore(start, end, context_mask)
        return QuestionAnsweringModelOutput(
            loss=loss,
            start_logits=unpack(start, context_mask, slots, real),
            end_logits=unpack(end, context_mask, slots, real),
        )

    def _parts(self, input_ids: Tensor, real: Tensor, token_type_ids: Tensor | None) -> tuple[Tensor, Tensor]:
        """Boolean masks ``[B, L]`` of ``[CLS]`` and context, and of the question."""
        is_separator = input_ids == self.config.sep_token_id
        if token_type_ids is None:
            token_type_ids = (is_separator.cumsum(1) - is_separator.long() > 0).long()
        is_first = (real.cumsum(1) == 1) & real
        words = real & ~is_separator & ~is_first
        return (words & (token_type_ids == 1)) | is_first, words & (token_type_ids == 0)

    def read(
        self,
        context: Tensor,
        question: Tensor,
        context_mask: Tensor,
        question_mask: Tensor,
        context_ids: Tensor,
        question_ids: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Read the question in the context.

        Args:
            context: ``[B, S, E]``, vectors of ``[CLS]`` and the context's words.
            question: ``[B, N, E]``.
            context_mask: ``[B, S]``, boolean; real positions come first.
            question_mask: ``[B, N]``, likewise.
            context_ids: ``[B, S]``, the words' ids.
            question_ids: ``[B, N]``.

        Returns:
            Start and end logits ``[B, S]``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define read(...)")

    def rescore(self, start: Tensor, end: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Change the logits ``[B, S]`` at prediction; not at all, unless a subclass does."""
        return start, end


def _check_shapes(input_ids: Tensor, char_ids: Tensor | None, **others: Tensor | None) -> None:
    if input_ids.dim() != 2:
        raise ValueError(
            f"input_ids have shape {tuple(input_ids.shape)}, not [examples, words]; for a single example, add a "
            "dimension with .unsqueeze(0)"
        )
    shape = tuple(input_ids.shape)
    for name, values in others.items():
        if values is not None and values.shape != shape:
            raise ValueError(f"{name} has shape {tuple(values.shape)}; that of input_ids is {shape}")
    if char_ids is not None and (char_ids.dim() != 3 or char_ids.shape[:2] != shape):
        raise ValueError(
            f"char_ids have shape {tuple(char_ids.shape)}; they must be [{shape[0]}, {shape[1]}, characters], as "
            "WordCharTokenizer gives them"
        )


def unpack(logits: Tensor, mask: Tensor, positions: Tensor, like: Tensor) -> Tensor:
    """``[B, S]`` logits back to their positions in ``[B, L]``; the dtype's minimum elsewhere."""
    nothing = torch.finfo(logits.dtype).min
    spread = logits.new_full(like.shape, nothing)
    return spread.scatter(1, positions, logits.masked_fill(~mask, nothing))


def span_loss(start: Tensor, end: Tensor, allowed: Tensor, start_positions: Tensor, end_positions: Tensor) -> Tensor:
    """Mean of the cross-entropies of start and end.

    Args:
        start: ``[B, L]`` logits.
        end: ``[B, L]`` logits.
        allowed: ``[B, L]``, boolean, where an answer may stand; a label elsewhere is ignored.
        start_positions: ``[B]``.
        end_positions: ``[B]``.

    Returns:
        A scalar; zero, not NaN, where every label is ignored.
    """
    total = start.new_zeros((), dtype=torch.float32)
    for logits, positions in ((start, start_positions.view(-1)), (end, end_positions.view(-1))):
        inside = (positions >= 0) & (positions < allowed.size(1))
        inside &= allowed.gather(1, positions.clamp(0, allowed.size(1) - 1).unsqueeze(1)).squeeze(1)
        labels = positions.masked_fill(~inside, IGNORED)
        losses = cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")
        total = total + losses / inside.sum().clamp(min=1)
    return total / 2
