"""Base class of the configs of the word-level readers, QANet and BiDAF."""

# Without `from __future__ import annotations`: `@strict` cannot check types that are strings.
from dataclasses import fields
from typing import Any, ClassVar

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from .configuration_backbone import MAX_LAYERS, MAX_LENGTH, MAX_SIZE, TaskConfigMixin
from .context_query_attention import check_attention

NUM_SPECIAL_TOKENS = 4  # [PAD], [UNK], [CLS] and [SEP], the first words of every vocabulary
QUESTION_WORDS = frozenset({"how", "what", "when", "where", "which", "who", "whom", "whose", "why"})
MAX_VOCABULARY = 10_000_000


@strict
class WordReaderConfig(TaskConfigMixin, PreTrainedConfig):
    """Sizes of the input layer, the attention between context and question, and the lengths used in training.

    Args:
        vocab_size: number of words, including special tokens.
        word_embedding_size: width of the word vectors.
        word_vector_scale: factor of the word vectors, which brings small ones, such as an encoder's, to a common scale.
        train_word_vectors: train all word vectors rather than those of the special tokens only.
        char_vocab_size: number of characters, including padding and the unknown character.
        char_embedding_size: width of the character vectors.
        num_char_filters: filters of the character CNN, one feature per word each; 0 for no characters.
        char_kernel_size: width of a filter in characters; odd.
        word_features: add three features per word: inverse document frequency, whether it is a question word, and
            whether it occurs in the other text (Deng & Huang, section 4).
        num_highway_layers: highway layers over word vector and character features.
        word_dropout: dropout of the word vectors.
        char_dropout: dropout of the character vectors.
        dropout: dropout of all later layers.
        hidden_size: D of QANet; units per direction of BiDAF.
        attention: name of a registered attention: `"trilinear"`, `"bidaf"`, `"dot"`, `"self"`, `"combined"`, `"OA-C"`,
            `"OA-CA"`, `"OA-EM"`, `"OA-EMB"`, or a name given to `register_attention`.
        num_attention_heads: heads of self-attention in QANet, and of multi-head attentions.
        max_question_length: question words that the model was trained with; None: not recorded.
        max_answer_length: words of an answer, likewise.
        max_input_length: tokens of an input, likewise.
        doc_stride: overlap of two windows of a long context in tokens, likewise.
        simplify_questions: inverted and passive questions are read in their simple form as well.
        no_answer_threshold: margin by which no answer must exceed the best one; None: not trained to see it.
    """

    vocab_size: int = 10_000
    word_embedding_size: int = 300
    word_vector_scale: float | int = 1.0
    train_word_vectors: bool = False
    char_vocab_size: int = 128
    char_embedding_size: int = 64
    num_char_filters: int = 64
    char_kernel_size: int = 5
    word_features: bool = False
    num_highway_layers: int = 2
    word_dropout: float | int = 0.1
    char_dropout: float | int = 0.05
    dropout: float | int = 0.1
    hidden_size: int = 128
    attention: str = "trilinear"
    num_attention_heads: int = 8
    max_question_length: int | None = None
    max_answer_length: int | None = None
    max_input_length: int | None = None
    doc_stride: int | None = None
    simplify_questions: bool = False
    no_answer_threshold: float | int | None = None
    pad_token_id: int | None = 0
    cls_token_id: int | None = 2
    sep_token_id: int | None = 3
    tie_word_embeddings: bool = False

    pipeline_task: ClassVar[str] = "extractive-question-answering"

    def __post_init__(self, **kwargs: Any) -> None:
        """Validate, with a plain ValueError where `@strict` raises its own type later."""
        super().__post_init__(**kwargs)
        self.validate_word_reader()

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As the base class, but fields in `kwargs` are validated too."""
        own = {field.name for field in fields(cls)} - {field.name for field in fields(PreTrainedConfig)}
        given = {name: kwargs.pop(name) for name in own & kwargs.keys()}
        return super().from_dict(config_dict | given, **kwargs)

    @property
    def attention_size(self) -> int:
        """Width of the inputs of the attention."""
        return self.hidden_size

    def validate_word_reader(self) -> None:
        """Raise a ValueError for sizes out of range; also called by `@strict`."""
        self.check_dropout("word_dropout", "char_dropout", "dropout")
        self.check_between(NUM_SPECIAL_TOKENS, MAX_VOCABULARY, "vocab_size")
        self.check_between(1, MAX_VOCABULARY, "char_vocab_size")
        self.check_between(1, MAX_SIZE, "word_embedding_size", "hidden_size", "char_embedding_size")
        self.check_between(1, MAX_SIZE, "num_attention_heads")
        self.check_between(0, MAX_SIZE, "num_char_filters")
        self.check_between(0, MAX_LAYERS, "num_highway_layers")
        self.check_between(1, MAX_LENGTH, "max_question_length", "max_answer_length", "max_input_length", "doc_stride")
        self.check_odd("char_kernel_size")
        check_attention(self.attention, self.attention_size, self.num_attention_heads)

    def check_odd(self, *names: str) -> None:
        """Raise a ValueError if a kernel size is not odd, or out of range."""
        self.check_between(1, MAX_SIZE, *names)
        for name in names:
            if getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be an odd number")
