"""Checkpoints that were made for something else, and inputs at the edges."""

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from clozeformers import AutoModelForNegationScope, BertForNegationScopeOA, XLNetForNegationScopeOA
from clozeformers.modeling.modeling_negation_scope import word_loss

SIZES = {"vocab_size": 20, "hidden_size": 16, "num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 16}


@pytest.mark.parametrize("num_labels", [2, 5])
def test_a_classifier_of_another_task_is_not_taken_over(num_labels, tmp_path):
    other = BertForSequenceClassification(BertConfig(**SIZES, num_labels=num_labels))
    torch.nn.init.constant_(other.classifier.weight, 7.0)
    other.save_pretrained(tmp_path)
    model = AutoModelForNegationScope.from_pretrained(tmp_path)
    assert model.config.id2label == {0: "out-of-scope", 1: "in-scope"}
    assert model.scope_classifier.weight.shape == (2, 16)
    assert not (model.scope_classifier.weight == 7.0).any()
    expected = other.bert.encoder.layer[0].output.dense.weight
    torch.testing.assert_close(model.bert.encoder.layer[0].output.dense.weight, expected)


def test_the_wrong_encoder_is_named(tmp_path):
    BertForSequenceClassification(BertConfig(**SIZES)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="checkpoint of type 'bert', not 'xlnet'; AutoModelForNegationScope"):
        XLNetForNegationScopeOA.from_pretrained(tmp_path)


@pytest.mark.parametrize("shape", [(2, 1), (1, 5), (5,)])
def test_a_cue_mask_of_another_shape_is_refused(shape, tmp_path):
    model = BertForNegationScopeOA(BertForNegationScopeOA.config_class(**SIZES))
    with pytest.raises(ValueError, match=r"the input's is \(2, 5\)"):
        model(input_ids=torch.ones(2, 5, dtype=torch.long), cue_mask=torch.ones(shape))


def test_words_of_a_window_keep_their_numbers_in_the_sentence():
    logits = torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[-100, 1, -100, 0, -100], [-100, 0, 1, -100, -100]])
    near = torch.tensor([[-1, 0, 0, 1, -1], [-1, 0, 1, 1, -1]])
    far = torch.where(near >= 0, near + 1000, near)
    torch.testing.assert_close(word_loss(logits, labels, far, None), word_loss(logits, labels, near, None))
