"""Tiny tokenizers and models of question answering, built without downloads."""

from __future__ import annotations

import string
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    XLNetConfig,
    XLNetForQuestionAnsweringSimple,
    XLNetTokenizer,
)
from transformers.modeling_outputs import QuestionAnsweringModelOutput

from clozeformers.pipelines.question_answering import ExtractiveQuestionAnsweringPipeline

CONTEXT = "The cat sits on the mat.  In 1990 it cost $5, says Dr. Who\u00a0of Paris."
VOCABULARY = "the cat sits on mat . in 1990 it cost $ 5 , says who of paris"
WORDS = VOCABULARY.split()
MAX_WORD_LENGTH = 16
HIDDEN_SIZE = 16


class WordTokenizer(PreTrainedTokenizerFast):
    """Words and symbols as tokens, each with character ids."""

    model_input_names: ClassVar[list[str]] = ["input_ids", "attention_mask", "token_type_ids", "char_ids"]

    def __call__(self, text: Any, text_pair: Any = None, **arguments: Any) -> Any:
        encoded = super().__call__(text, text_pair, **arguments)
        rows = [self._characters(encoding.tokens) for encoding in encoded.encodings]
        encoded["char_ids"] = torch.tensor(rows) if arguments.get("return_tensors") == "pt" else rows
        return encoded

    def _characters(self, tokens: list[str]) -> list[list[int]]:
        rows = []
        for token in tokens:
            numbers = [] if token in self.all_special_tokens else [1 + ord(letter) % 97 for letter in token]
            rows.append((numbers + [0] * MAX_WORD_LENGTH)[:MAX_WORD_LENGTH])
        return rows


def word_tokenizer(**arguments: Any) -> WordTokenizer:
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *(word.title() for word in WORDS)])
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {name: f"[{name[:3].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token")}
    return WordTokenizer(tokenizer_object=tokenizer, **names, **arguments)


def bert_tokenizer(**arguments: Any) -> BertTokenizer:
    letters = string.ascii_lowercase + string.digits
    pieces = [*WORDS, *letters, *(f"##{letter}" for letter in letters), *string.punctuation, "😀"]
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces])
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(vocabulary)}, **{"model_max_length": 64} | arguments)


def xlnet_tokenizer(**arguments: Any) -> XLNetTokenizer:
    """Pads on the left, and ends with `<cls>`."""
    special = [(token, 0.0) for token in ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>")]
    words = [(f"▁{word}", -2.0) for word in WORDS if word.isalnum() and len(word) > 1]
    letters = [(letter, -5.0) for letter in ["▁", *string.ascii_letters, *string.digits, *string.punctuation]]
    return XLNetTokenizer(vocab=[*special, *words, *letters], unk_id=0, **arguments)


def byte_tokenizer(**arguments: Any) -> PreTrainedTokenizerFast:
    """One piece per byte, spaces included; sequences begin with `<s>`, not `[CLS]`."""
    alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", **arguments
    )


TOKENIZERS = {"word": word_tokenizer, "bert": bert_tokenizer, "xlnet": xlnet_tokenizer, "bytes": byte_tokenizer}


class WordReaderConfig(PreTrainedConfig):
    model_type = "word-reader-of-the-tests"


class WordReader(PreTrainedModel):
    """A word-level model with the inputs and outputs of the library's: each word beside the question's mean."""

    config_class = WordReaderConfig

    def __init__(self, config: WordReaderConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(64, HIDDEN_SIZE)
        self.characters = nn.Embedding(100, HIDDEN_SIZE)
        self.outputs = nn.Linear(2 * HIDDEN_SIZE, 2)
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, char_ids: Tensor
    ) -> QuestionAnsweringModelOutput:
        words = self.words(input_ids) + self.characters(char_ids).mean(dim=2)
        in_question = ((token_type_ids == 0) & attention_mask.bool()).unsqueeze(2)
        question = (words * in_question).sum(1, keepdim=True) / in_question.sum(1, keepdim=True)
        logits = 9 * self.outputs(torch.cat([words, words * question], dim=2))
        is_slot = (token_type_ids == 1) & (input_ids != 3) & attention_mask.bool()
        is_slot[:, 0] = True
        starts, ends = logits.masked_fill(~is_slot.unsqueeze(2), torch.finfo(logits.dtype).min).unbind(2)
        return QuestionAnsweringModelOutput(start_logits=starts, end_logits=ends)


def _bert_reader(tokenizer: Any) -> PreTrainedModel:
    sizes = {"hidden_size": HIDDEN_SIZE, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.5, **sizes)
    return BertForQuestionAnswering(config)


def _xlnet_reader(tokenizer: Any) -> PreTrainedModel:
    sizes = {"d_model": HIDDEN_SIZE, "n_layer": 1, "n_head": 2, "d_inner": 16}
    return XLNetForQuestionAnsweringSimple(
        XLNetConfig(vocab_size=len(tokenizer), initializer_range=0.5, pad_token_id=tokenizer.pad_token_id, **sizes)
    )


MODELS = {"bert": _bert_reader, "xlnet": _xlnet_reader, "word": lambda tokenizer: WordReader(WordReaderConfig())}


def tiny_reader(kind: str, **arguments: Any) -> ExtractiveQuestionAnsweringPipeline:
    """A pipeline around a model with fixed random weights."""
    tokenizer = TOKENIZERS[kind]()
    torch.manual_seed(0)
    model = MODELS[kind](tokenizer).eval()
    return ExtractiveQuestionAnsweringPipeline(
        model=model, tokenizer=tokenizer, task="extractive-question-answering", device="cpu", **arguments
    )
