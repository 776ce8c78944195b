"""What the configs of the word-level readers, QANet and BiDAF, have in common."""

from __future__ import annotations

from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig
from transformers.pipelines import PIPELINE_REGISTRY

from .context_query_attention import check_attention

NUM_SPECIAL_TOKENS = 4  # [PAD], [UNK], [CLS] and [SEP] are the first words of every vocabulary


@strict
class WordReaderConfig(PreTrainedConfig):
    """Sizes of the input layer, and the attention between context and question.

    Args:
        vocab_size: words, special tokens included.
        word_embedding_size: width of a word vector.
        word_vector_scale: what word vectors are multiplied with, so that vectors of all sources, of which an encoder's
            may be very small, come in at one size.
        train_word_vectors: train all word vectors; if not, those of the special tokens only.
        char_vocab_size: characters, padding and the unknown character included.
        char_embedding_size: width of a character's vector.
        num_char_filters: filters of the character CNN, each giving one number a word; 0 for no characters.
        char_kernel_size: characters that a filter sees; odd.
        num_highway_layers: over word vector and character features.
        word_dropout: of word vectors.
        char_dropout: of character features.
        dropout: of everything after them.
        hidden_size: D of QANet; of BiDAF, units of one direction.
        attention: `"trilinear"`, `"bidaf"`, `"dot"`, `"self"`, `"combined"`, or a variant of Orthogonal Attention.
        num_attention_heads: of self-attention in QANet, and of Orthogonal Attention.
    """

    vocab_size: int = 10_000
    word_embedding_size: int = 300
    word_vector_scale: float | int = 1.0
    train_word_vectors: bool = False
    char_vocab_size: int = 128
    char_embedding_size: int = 64
    num_char_filters: int = 64
    char_kernel_size: int = 5
    num_highway_layers: int = 2
    word_dropout: float | int = 0.1
    char_dropout: float | int = 0.05
    dropout: float | int = 0.1
    hidden_size: int = 128
    attention: str = "trilinear"
    num_attention_heads: int = 8
    pad_token_id: int | None = 0
    cls_token_id: int | None = 2
    sep_token_id: int | None = 3
    tie_word_embeddings: bool = False

    pipeline_task: ClassVar[str] = "extractive-question-answering"

    def __post_init__(self, **kwargs: Any) -> None:
        """Refuse what no model can be built with, as a plain ValueError."""
        super().__post_init__(**kwargs)
        self.validate_word_reader()

    @property
    def attention_size(self) -> int:
        """Width of the vectors that the attention between context and question reads."""
        return self.hidden_size

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As `PreTrainedConfig.from_dict`; a checkpoint's own code is passed over where the library is imported."""
        if cls.pipeline_task in PIPELINE_REGISTRY.supported_tasks:
            # transformers prefers the pipeline that a checkpoint brings, and asks to trust it, over a registered one.
            config_dict = {key: config_dict[key] for key in config_dict if key not in ("auto_map", "custom_pipelines")}
        return super().from_dict(config_dict, **kwargs)

    def validate_word_reader(self) -> None:
        """Part of the `@strict` validation: sizes that do not fit."""
        for name in ("word_dropout", "char_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1")
        for name in ("word_embedding_size", "hidden_size", "char_vocab_size", "char_embedding_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("num_char_filters", "num_highway_layers"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 0")
        if self.vocab_size < NUM_SPECIAL_TOKENS:
            raise ValueError(f"vocab_size is {self.vocab_size}, but {NUM_SPECIAL_TOKENS} are special tokens")
        if self.char_kernel_size < 1 or self.char_kernel_size % 2 == 0:
            raise ValueError(f"char_kernel_size is {self.char_kernel_size}; it must be an odd number")
        check_attention(self.attention, self.attention_size, self.num_attention_heads)
