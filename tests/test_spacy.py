"""The spaCy component `clozeformers_negation`, added by its name as users do."""

from __future__ import annotations

import shutil
import sys
import time
from importlib import import_module

import pytest
import spacy
import torch
from spacy.tokens import Doc
from transformers import pipeline

from clozeformers import BertForNegationScopeOA

NAME = "clozeformers_negation"
TEXTS = [
    "There is no fever. He has asthma.",
    "I do not know, neither do you nor he.",
    "",
    " \n",
    "All is well.",
    "It is impossible!",
]
ENTITIES = ["fever", "asthma", "history of asthma", "unstable angina", "angina", "No fever"]


@pytest.fixture(scope="module")
def all_in_scope(tiny_model_folder, tiny_tokenizer, tmp_path_factory):
    """A model for which each word of a sentence is in the scope of its cues."""
    model = BertForNegationScopeOA.from_pretrained(tiny_model_folder)
    with torch.no_grad():
        model.scope_classifier.weight.zero_()
        model.scope_classifier.bias.copy_(torch.tensor([0.0, 9.0]))
    folder = tmp_path_factory.mktemp("all-in-scope")
    model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return folder


def build(model, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PROBLEM", "pattern": text} for text in ENTITIES])
    nlp.add_pipe(NAME, config={"device": "cpu", "model": model and str(model), **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(all_in_scope):
    return build(all_in_scope)


@pytest.fixture(scope="module")
def random_nlp(tiny_model_folder):
    return build(tiny_model_folder)


def plain(doc):
    """Negations with spans as token numbers, and without rounding errors."""
    return [
        ([(s.start, s.end) for s in cue], [(s.start, s.end) for s in scope], pytest.approx(score, abs=1e-5), affix)
        for cue, scope, score, affix in doc._.negations
    ]


def in_words(doc):
    return [([s.text for s in found.cue], [s.text for s in found.scope], found.affix) for found in doc._.negations]


# ------------------------------------------------------------------------------------------------------- annotations


@pytest.mark.parametrize(
    ("text", "negations", "entities"),
    [
        (TEXTS[0], [(["no"], ["There is", "fever."], False)], {"fever": True, "asthma": False}),
        ("No history of asthma", [(["No"], ["history of asthma"], False)], {"history of asthma": True}),
        ("No fever", [(["No"], ["fever"], False)], {"No fever": True}),
        ("Neither fever nor pain", [(["Neither", "nor"], ["fever", "pain"], False)], {"fever": True}),
        ("It is impossible", [(["impossible"], ["It is impossible"], True)], {}),
        ("the unstable angina", [(["unstable"], ["the unstable angina"], True)], {"unstable angina": False}),
        ("angina is impossible", [(["impossible"], ["angina is impossible"], True)], {"angina": True}),
        ("no\n \tfever", [(["no"], ["fever"], False)], {"fever": True}),
        ("All is well.", [], {}),
    ],
)
def test_negations(nlp, text, negations, entities):
    doc = nlp(text)
    assert in_words(doc) == negations
    assert {entity.text: entity._.negated for entity in doc.ents} == entities
    scopes = [token.i for found in doc._.negations for span in found.scope for token in span]
    assert [token.i for token in doc if token._.negated] == scopes
    assert all(found.score > 0.99 for found in doc._.negations)


def test_a_hyphenated_word_is_one_word(nlp):
    doc = nlp("He is a non-smoker.")
    assert len(doc) == 7, "spaCy has three tokens"
    assert in_words(doc) == [(["non"], ["He is a", "-smoker."], True)]
    assert [doc[start:6]._.negated for start in (3, 5)] == [False, True], "non-smoker, smoker"


def test_sentences_are_those_of_the_document(nlp):
    words = ["no", "fever", "He", "is", "ill", ".", "Not", "me"]
    for starts, scopes in (([0, 2], [["fever"], ["He is ill.", "me"]]), ([0, 6], [["fever He is ill."], ["me"]])):
        doc = Doc(nlp.vocab, words, sent_starts=[n in starts for n in range(8)], spaces=[n != 4 for n in range(8)])
        assert [scope for _, scope, _ in in_words(nlp.get_pipe(NAME)(doc))] == scopes


def test_predictions_are_those_of_the_pipeline(random_nlp, tiny_model_folder):
    text = "I do not know the answer. He was never in the door, and nothing is known! It is neither cat nor man?"
    negation = pipeline("negation-scope", model=str(tiny_model_folder), device="cpu")
    doc = random_nlp(text)
    assert [
        ([text[s.start_char : s.end_char] for s in found.scope], pytest.approx(found.score, abs=1e-5))
        for found in doc._.negations
    ] == [([span["text"] for span in found["scope"]], found["score"]) for found in negation(text)]


def test_spans_survive_merged_tokens(nlp):
    doc = nlp("He has no history of asthma.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
        retokenizer.merge(doc[3:6])
    assert in_words(doc) == [(["no"], ["He has", "history of asthma."], False)]
    assert [token._.negated for token in doc] == [True, False, True, True]


def test_what_was_not_annotated_is_not_negated(nlp):
    doc = nlp.make_doc("no fever")
    assert (doc._.negations, doc[1]._.negated, doc[0:2]._.negated) == ([], False, False)


# ------------------------------------------------------------------------------------------------------------ batches


def test_a_batch_of_documents_shares_forward_passes(random_nlp, monkeypatch):
    one_by_one = [plain(random_nlp(text)) for text in TEXTS]
    assert [len(found) for found in one_by_one] == [1, 2, 0, 0, 0, 1]
    negation, sizes = random_nlp.get_pipe(NAME).pipeline, []
    forward = negation.forward
    monkeypatch.setattr(negation, "forward", lambda inputs: sizes.append(len(inputs["input_ids"])) or forward(inputs))
    assert [plain(doc) for doc in random_nlp.pipe(TEXTS, batch_size=2)] == one_by_one
    assert sizes == [3, 1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_several_processes(random_nlp):
    expected = [plain(random_nlp(text)) for text in TEXTS]
    docs = list(random_nlp.pipe(TEXTS, batch_size=2, n_process=2))
    assert [plain(doc) for doc in docs] == expected
    assert [doc.text for doc in docs] == TEXTS


def test_a_forked_process_runs_one_thread(nlp, monkeypatch):
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    nlp(TEXTS[0])
    assert not threads
    monkeypatch.setattr(nlp.get_pipe(NAME), "_process", -1)
    nlp(TEXTS[0])
    assert threads == [1]


def test_failing_batches_go_to_the_error_handler(all_in_scope, monkeypatch):
    nlp, failed = build(all_in_scope), []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, [doc.text for doc in docs])))
    component = nlp.get_pipe(NAME)
    forward = component.pipeline.forward
    monkeypatch.setattr(component.pipeline, "forward", lambda inputs: forward(inputs) if len(failed) else 1 / 0)
    docs = list(nlp.pipe(TEXTS, batch_size=1))
    assert failed == [(NAME, TEXTS[:1])]
    assert [doc.text for doc in docs] == TEXTS[1:]
    failed.clear()
    with pytest.raises(ZeroDivisionError):
        component(nlp.make_doc(TEXTS[0]))


# ------------------------------------------------------------------------------------------------------ serialization


def test_the_model_travels_with_the_pipeline(tiny_model_folder, random_nlp, tmp_path):
    expected = [plain(random_nlp(text)) for text in TEXTS]
    nlp = build(shutil.copytree(tiny_model_folder, tmp_path / "origin"), batch_size=4)
    nlp.to_disk(tmp_path / "saved")
    in_bytes = nlp.to_bytes()
    shutil.rmtree(tmp_path / "origin")
    loaded = spacy.load(tmp_path / "saved")
    from_bytes = spacy.blank("en").from_config(nlp.config).from_bytes(in_bytes)
    for again in (loaded, from_bytes):
        assert [plain(doc) for doc in again.pipe(TEXTS)] == expected
        assert again.config["components"][NAME] == nlp.config["components"][NAME]
        assert again.get_pipe(NAME).batch_size == 4
    loaded.to_disk(tmp_path / "saved")


def test_documents_travel_with_their_negations(nlp):
    doc = nlp(TEXTS[1])
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert plain(again) == plain(doc)
    assert [token._.negated for token in again] == [token._.negated for token in doc]


def test_negations_stay_where_they_are_in_a_part_of_a_document_and_in_several(nlp):
    doc = nlp("He is here. There is no fever and no pain.")
    assert in_words(doc[4:].as_doc(copy_user_data=True)) == in_words(doc)
    for start, end, negations in (
        (6, 8, [(["no"], ["fever"], False), ([], ["no fever"], False)]),
        (8, 12, [([], ["and no pain."], False), (["no"], ["and", "pain."], False)]),
        (0, 4, []),
    ):
        part = doc[start:end].as_doc(copy_user_data=True)
        assert in_words(part) == negations
        assert [token._.negated for token in part] == [token._.negated for token in doc[start:end]]
    joined = Doc.from_docs([nlp(TEXTS[0]), doc, nlp("No.")])
    assert [str(found) for found in in_words(joined)] == [
        str(found) for one in (nlp(TEXTS[0]), doc, nlp("No.")) for found in in_words(one)
    ]
    assert in_words(nlp.get_pipe(NAME)(nlp.get_pipe(NAME)(doc))) == in_words(doc), "annotated again"


def test_what_a_document_was_cut_from_does_not_come_back(nlp):
    whole = nlp("All is well. He is not ill. She came.")
    first = whole[0:4].as_doc(copy_user_data=True)
    joined = Doc.from_docs([first, nlp("The weather is fine.")])
    assert in_words(joined) == []
    assert not any(token._.negated for token in joined)


def test_long_documents_are_read_in_linear_time(nlp):
    doc = nlp("There is no fever. " * 400)
    started = time.perf_counter()
    assert sum(token._.negated for token in doc) == 4 * 400
    assert time.perf_counter() - started < 10, "seconds"


def test_contractions_that_spacy_cuts_in_two(nlp):
    for text, words in (("It doesnt work", ["It does", "work"]), ("He wont", ["He wo"])):
        assert [scope for _, scope, _ in in_words(nlp(text))][:1] == [words], text
    assert in_words(nlp("as was his wont")) == []


# ------------------------------------------------------------------------------------------------------------- errors


def test_the_model_is_loaded_by_initialize_or_the_first_text(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={"model": str(tmp_path / "none")})
    for use in (nlp.initialize, lambda: nlp(TEXTS[0])):
        with pytest.raises(ValueError, match=rf'{NAME}: there is no folder .*none; .*add_pipe\("{NAME}", config={{"mo'):
            use()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"convention": "negex"}, "convention is 'negex'; it must be 'cd-sco', 'bioscope', 'sfu'"),
        ({"cue_detector": "negex"}, "cue_detector"),
        ({"batch_size": 0}, "batch_size is 0; it must be an integer of at least 1"),
        ({"batch_size": "many"}, "batch_size"),
        ({"models": "x"}, "models"),
    ],
)
def test_settings_are_checked(config, message):
    with pytest.raises(ValueError, match=rf"(?s){message}"):
        build(None, **config)


def test_a_device_that_is_not_there(tmp_path, tiny_model_folder):
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={"device": "cuda:99", "model": str(tiny_model_folder)})
    with pytest.raises(ValueError, match="the device cuda:99 cannot be used: "):
        nlp(TEXTS[0])


def test_the_whole_lexicon_under_any_convention():
    doc = build(None, convention="bioscope", cue_detector="lexicon")("She denies pain.")
    assert [token.text for token in doc if token._.negated] == ["pain"]


def test_a_stream_has_batches(nlp):
    with pytest.raises(ValueError, match="batch_size is 0; it must be an integer of at least 1"):
        list(nlp.pipe(TEXTS, batch_size=0))


def test_without_spacy(monkeypatch):
    monkeypatch.delitem(sys.modules, "clozeformers.spacy_component", raising=False)
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    with pytest.raises(ImportError, match=r'spaCy is not installed; run: pip install "clozeformers\[spacy\]"'):
        import_module("clozeformers.spacy_component")
