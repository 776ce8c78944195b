"""Trainer of question answering models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from datasets import Dataset
from torch import Tensor
from torch.utils.data import Sampler
from transformers import EvalPrediction, TrainerCallback

from ..files import read_json, write_json
from ..metrics.squad import squad_scores
from ..modeling.losses import span_target_loss
from ..training.sampling import HardBatchReplaySampler
from ..training.trainer import LengthGroupedTrainer
from .answers import NBest, answer_texts, best_score, no_answer_margins, predict_answers
from .arguments import QADataArguments, QATrainingArguments
from .collator import QuestionAnsweringCollator
from .encoding import encode_questions, simplify_questions

SIMPLE_ENDING = "\nsimple"
REPLAY_FILE = "replay.json"


class Questions(NamedTuple):
    """Questions to score.

    Attributes:
        rows: rows of a corpus.
        read: `rows`, and simpler forms of some, whose ids end in `SIMPLE_ENDING`.
        features: features of `read`, as `encode_questions` returns them.
    """

    rows: Dataset
    read: Dataset
    features: Dataset


class QuestionAnsweringTrainer(LengthGroupedTrainer):
    """`LengthGroupedTrainer` with the official scores and replay of hard batches.

    Args:
        model: any question answering model.
        args: `QATrainingArguments`.
        processing_class: the tokenizer, saved with the model.
        max_answer_length: maximum number of words or pieces of an answer.
        no_answer: whether questions may have no answer; it is predicted where the margin of no answer exceeds the
            attribute `no_answer_threshold`, 0 until it is set.
        validation: what `evaluate` scores.
        **kwargs: other arguments of `Trainer`.
    """

    args: QATrainingArguments
    scores_in_float32 = True

    def __init__(
        self,
        model: Any,
        args: QATrainingArguments,
        processing_class: Any,
        *,
        max_answer_length: int,
        no_answer: bool,
        validation: Questions | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            model=model,
            args=args,
            processing_class=processing_class,
            data_collator=QuestionAnsweringCollator(processing_class.pad_token_id),
            compute_metrics=self._score,
            preprocess_logits_for_metrics=_span_logits,
            eval_dataset=validation.features if validation else None,
            **kwargs,
        )
        self.max_answer_length = max_answer_length
        self.no_answer = no_answer
        self.no_answer_threshold = 0.0
        self.validation = validation
        self.nbest: dict[str, NBest] = {}
        self._scored = validation
        self._replay: HardBatchReplaySampler | None = None
        self._resumed_from: str | None = None
        self.add_callback(_EpochCallback(self))

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Build Adam with L2 regularisation, or Adadelta, where the arguments ask for it."""
        if self.optimizer is None and self.args.optimizer is not None:
            trained = [value for value in (model or self.model).parameters() if value.requires_grad]
            shared = {"lr": self.args.learning_rate, "weight_decay": self.args.weight_decay}
            if self.args.optimizer == "adadelta":
                self.optimizer = torch.optim.Adadelta(trained, **shared)
            else:
                betas = (self.args.adam_beta1, self.args.adam_beta2)
                self.optimizer = torch.optim.Adam(trained, betas=betas, eps=self.args.adam_epsilon, **shared)
        return super().create_optimizer(model)

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> torch.optim.lr_scheduler.LRScheduler:
        """Build the schedule: a logarithmic warm-up, where the arguments ask for it."""
        steps = self.args.log_warmup_steps
        if self.lr_scheduler is None and steps:  # type: ignore[has-type]
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer, lambda step: min(1.0, math.log(step + 2) / math.log(steps + 1))
            )
        return super().create_scheduler(num_training_steps, optimizer)

    def compute_loss(self, model: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The model's own loss, or that of `add_teacher_targets`, where the features have its targets."""
        if "start_targets" not in inputs:
            return super().compute_loss(model, inputs, *args, **kwargs)
        targets = [inputs.pop(name) for name in ("start_targets", "end_targets")]
        output = model(**inputs)
        return span_target_loss((output.start_logits, output.end_logits), targets, inputs["attention_mask"])

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Run a training step; if batches are replayed, record the mean loss over all processes."""
        loss = super().training_step(*args, **kwargs)
        if self._replay is not None:
            losses = self.accelerator.gather(loss.detach().float().reshape(1))
            self._replay.losses.append(float(losses.mean()))
        return loss

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler[int] | None:
        if not self.args.replay_batches:
            return super()._get_train_sampler(train_dataset)
        rows = self.train_dataset if train_dataset is None else train_dataset
        batch = self.args.train_batch_size * self.args.world_size
        self._replay = HardBatchReplaySampler(batch, list(rows["length"]), self.data_seed, self.args.replay_batches)
        self._sampler = self._replay
        return self._replay

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save the model; a checkpoint also holds the losses of the epoch, if batches are replayed."""
        super().save_model(output_dir, _internal_call)
        if _internal_call and self._replay is not None and self.args.should_save:
            write_json({"losses": self._replay.losses}, Path(str(output_dir)) / REPLAY_FILE)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        self._resumed_from = resume_from_checkpoint

    def _begin_epoch(self) -> None:
        """Reset the losses of the epoch, or load those of the checkpoint if training resumes inside it."""
        if self._replay is None:
            return
        self._replay.losses = []
        if self.state.global_step % (self._replay.num_batches + self._replay.num_replayed):
            self._replay.losses = read_json(Path(str(self._resumed_from)) / REPLAY_FILE)["losses"]

    def evaluation_loop(self, *args: Any, **kwargs: Any) -> Any:
        """Evaluate; on a CPU in float32, in which recurrent layers are faster and fewer spans have equal scores."""
        if not (self.scores_in_float32 and self.args.bf16 and self.args.device.type == "cpu"):
            return super().evaluation_loop(*args, **kwargs)
        # The autocast of accelerate is a forward method of the instance.
        autocast, native_amp = self.model.__dict__.pop("forward", None), self.accelerator.native_amp
        self.accelerator.native_amp = False
        try:
            return super().evaluation_loop(*args, **kwargs)
        finally:
            self.accelerator.native_amp = native_amp
            if autocast is not None:
                self.model.forward = autocast

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Score the validation questions."""
        self._scored = self.validation
        return dict(super().evaluate(*args, **kwargs))

    def predict_questions(self, questions: Questions) -> dict[str, float]:
        """Answer questions, kept in `nbest`, and return their scores, with the prefix `test_`."""
        self._scored = questions
        return dict(self.predict(questions.features, metric_key_prefix="test").metrics or {})

    def _score(self, prediction: EvalPrediction) -> dict[str, float]:
        assert self._scored is not None
        rows, read, features = self._scored
        answers = predict_answers(read, features, *prediction.predictions, max_answer_length=self.max_answer_length)
        self.nbest = better_forms(answers, self.no_answer)
        return question_answering_scores(rows, self.nbest, self.no_answer, self.no_answer_threshold)


class _EpochCallback(TrainerCallback):
    def __init__(self, trainer: QuestionAnsweringTrainer) -> None:
        self.trainer = trainer

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self.trainer._begin_epoch()


def _span_logits(logits: tuple[Tensor, ...], labels: Any) -> tuple[Tensor, Tensor]:
    return logits[0].float(), logits[1].float()


def encode_corpus(
    rows: Dataset,
    name: str,
    *,
    tokenizer: Any,
    data_args: QADataArguments,
    reports: dict[str, str],
    for_training: bool = False,
    with_offsets: bool = False,
) -> Questions:
    """Encode a corpus, with the simple forms of its questions if they are to be scored too.

    Args:
        rows: rows of the corpus.
        name: name of the corpus, for `reports`.
        tokenizer: a fast tokenizer.
        data_args: as `resolve_arguments` returns them.
        reports: receives the summary of `encode_questions`.
        for_training: see `encode_questions`.
        with_offsets: likewise.
    """
    read = rows
    if data_args.simplify_questions and not for_training:
        read = simplify_questions(rows)
        ids = [row_id if place < len(rows) else row_id + SIMPLE_ENDING for place, row_id in enumerate(read["id"])]
        read = read.remove_columns("id").add_column("id", ids)
    sizes: dict[str, Any] = {name: getattr(data_args, name) for name in ("max_question_length", "doc_stride")}
    sizes["max_length"] = tokenizer.model_max_length
    features, reports[name] = encode_questions(
        read, tokenizer, for_training=for_training, no_answer=data_args.no_answer, with_offsets=with_offsets, **sizes
    )
    return Questions(rows, read, features)


def better_forms(nbest: Mapping[str, NBest], no_answer: bool) -> dict[str, NBest]:
    """Keep the form of each question whose best answer, or no answer, is likelier (Jain & Dutta, section 5)."""
    kept: dict[str, NBest] = {}
    for read_id, found in nbest.items():
        row_id = read_id.removesuffix(SIMPLE_ENDING)
        if row_id not in kept or best_score(found, no_answer) > best_score(kept[row_id], no_answer):
            kept[row_id] = found
    return kept


def question_answering_scores(
    rows: Dataset, nbest: Mapping[str, NBest], no_answer: bool, no_answer_threshold: float = 0.0
) -> dict[str, float]:
    """The official scores of n-best answers, see `squad_scores`: of SQuAD 2.0 if `no_answer`, else of 1.1.

    The threshold, see `answer_texts`, has no effect on the `best_` scores, which are those of the best threshold.
    """
    references = {row_id: answers["text"] for row_id, answers in zip(rows["id"], rows["answers"], strict=True)}
    if not no_answer:
        return squad_scores(answer_texts(nbest), references, version_2=False)
    scores = squad_scores(answer_texts(nbest, no_answer_threshold), references, version_2=True)
    searched = squad_scores(answer_texts(nbest), references, no_answer_probabilities=no_answer_margins(nbest))
    return scores | {name: value for name, value in searched.items() if name.startswith("best_")}
