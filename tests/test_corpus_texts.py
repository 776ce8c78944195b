"""The texts of corpora as lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from clozeformers.corpus_texts import main
from clozeformers.negation_scope.corpora.jsonl import write_negation_jsonl

from .cloze_corpora import recam_rows, write_recam
from .negation_rows import negation_rows
from .qa_corpora import write_squad


def test_every_text_is_a_line_once(tmp_path: Path) -> None:
    squad, rows, negations = write_squad(tmp_path / "squad.json", 8, 0), recam_rows(4, 0), negation_rows(5, 0)
    recam = write_recam(tmp_path / "recam.jsonl", rows)
    again = negations[0] | {"id": "again#0"}
    write_negation_jsonl([*negations, again], tmp_path / "negation.jsonl")
    sources = ["--squad", str(squad), "--recam", str(recam), "--negation", str(tmp_path / "negation.jsonl")]
    main([*sources, "--output", str(tmp_path / "texts.txt")])
    lines = (tmp_path / "texts.txt").read_text().splitlines()
    assert len(lines) == len(set(lines))
    assert {" ".join(row["article"].split()) for row in rows} < set(lines)
    assert {" ".join(row["tokens"]) for row in negations} < set(lines)
    main([*sources, "--output", str(tmp_path / "again.txt")])
    assert (tmp_path / "again.txt").read_text().splitlines() == lines
    with pytest.raises(ValueError, match="give --squad, --recam or --negation"):
        main(["--output", str(tmp_path / "none.txt")])
