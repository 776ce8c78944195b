"""The demo: read text with the packaged models, then fine-tune the negation model on clinical notes for a minute.

Nothing is downloaded. The notes (`negation_scope/notes`) follow guidelines of their own: only the finding is in scope.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..drawings.terminal import terminal_has_colour, to_text
from .app import app
from .loading import load_pipeline

FOLDER = Path(".demo")
SENTENCES = (
    "I do not know the answer.",
    "This hotel isn't what the brochure promised, but the beach is lovely.",
    "He is neither a poet nor a painter.",
    "The patient denies smoking and has no history of asthma.",
    "No evidence of pneumothorax was seen on the radiograph.",
    "She left the theatre without saying goodbye.",
    "The instructions were unclear, so I called the shop.",
    "Although the battery lasts all day, the camera never focuses properly.",
    "It was impossible to sleep because the walls were thin.",
    "The compound did not inhibit growth, and no toxicity was observed.",
    "Not only was the soup cold, the waiter was rude as well.",
    "Why didn't the waiter tell us that the kitchen was closed?",
    "“I can’t hear you,” whispered the child.",
)
PASSAGE = (
    "The observatory on Mount Halden was planned by the astronomer Ines Brandt and opened in 1911. Its first "
    "telescope, a refractor with a lens of 60 centimetres, was paid for by a shipping company. During the flood "
    "of 1953 the archive of glass plates was carried up to the dome by schoolchildren, so that only eleven plates "
    "were lost. Since 2004 the building has been a museum."
)
QUESTIONS = (
    "Who planned the observatory?",
    "Who paid for the first telescope?",
    "What has the building been since 2004?",
    "Which comet was discovered there?",
)
NOTE = "Lungs clear without wheezing or rales, and the patient denies fatigue."
NOTES = Path(__file__).parents[1] / "negation_scope" / "notes"
RECIPE = """
--per_device_train_batch_size 16 --num_train_epochs 2 --learning_rate 1e-4 --head_learning_rate 2e-4
--warmup_steps 0.1 --lr_scheduler_type linear --save_strategy no --logging_strategy no --log_level error
"""


@app.command()
def demo() -> None:
    """Read text with the packaged models, and fine-tune one.

    Its files are written to the folder .demo, which it replaces.
    """
    from ..pipelines.checkpoints import PACKAGED_MODELS

    negation = load_pipeline(None, "negation-scope")
    for sentence in SENTENCES:
        _show(negation, sentence)
    reader = load_pipeline(None, "extractive-question-answering")
    print(f"\n{PASSAGE}\n")
    for question in QUESTIONS:
        print(question, reader(question=question, context=PASSAGE)["answer"] or "(not in the text)", flush=True)
    model, files = str(PACKAGED_MODELS / "negation-scope"), {"--test_file": NOTES / "test.jsonl"}
    print("\nClinical notes, whose guidelines the model has not seen; its scores on 102 of them:\n")
    _run(model, FOLDER / "before", files)
    print("\nThe same after fine-tuning on 307 others:\n")
    _run(model, FOLDER / "model", {"--train_file": NOTES / "train.jsonl", **files}, RECIPE.split())
    print("\nBefore:")
    _show(negation, NOTE)
    print("\nAfter:")
    _show(load_pipeline(str(FOLDER / "model"), "negation-scope"), NOTE)


def _show(negation: Any, text: str) -> None:
    from ..negation_scope.drawing import scope_lines

    print(to_text(scope_lines(text, negation(text)), terminal_has_colour()), flush=True)


def _run(model: str, folder: Path, files: Mapping[str, Path], options: Sequence[str] = ()) -> None:
    """Run the training script on a model; it prints the scores."""
    from ..run_glue_style.run_negation_scope import main

    shutil.rmtree(folder, ignore_errors=True)
    data = [str(word) for pair in files.items() for word in pair]
    quiet = ["--disable_tqdm", str(not sys.stderr.isatty()), "--report_to", "none"]
    main(["--model_name_or_path", model, "--output_dir", str(folder), *data, *quiet, *options])
