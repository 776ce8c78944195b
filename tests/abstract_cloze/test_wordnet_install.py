"""Finding and installing WordNet."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from clozeformers.abstract_cloze.wordnet import WordNet, data_folder, dictionary_places, find_dictionary, find_wordnet
from clozeformers.abstract_cloze.wordnet_install import install, lexnames
from clozeformers.cli import main
from clozeformers.files import CorpusError

from ..wordnet_files import write_wordnet

IN_DATA_FOLDER = Path("corpora", "wordnet")


@pytest.fixture(autouse=True)
def computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer without WordNet and without a network; its folders are home, nltk_data and system."""
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("nltk.data.path", [str(tmp_path / "nltk_data")])
    for module in ("wordnet", "wordnet_install"):
        monkeypatch.setattr(f"clozeformers.abstract_cloze.{module}.SYSTEM_FOLDERS", [str(tmp_path / "system")])

    def no_network(name: str, **_: Any) -> None:
        raise ValueError("Error loading wordnet: there is no network")

    monkeypatch.setattr("nltk.download", no_network)
    return tmp_path


def write_system(computer: Path) -> Path:
    """The system's package, which has no `lexnames`."""
    folder = write_wordnet(computer / "system")
    (folder / "lexnames").unlink()
    (folder / "index.sense").write_text("murder%1:04:00:: 00000000 1 0\n")
    return folder


def write_archive(path: Path, folder: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"wordnet/{file.name}")
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_lexnames() -> None:
    rows = lexnames().splitlines()
    expected = {0: "adj.all\t3", 2: "adv.all\t4", 3: "noun.Tops\t1", 29: "verb.body\t2", 44: "adj.ppl\t3"}
    assert {number: rows[number] for number in expected} == {n: f"{n:02}\t{row}" for n, row in expected.items()}
    assert len(rows) == 45


def test_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("CLOZEFORMERS_HOME", "~/mine")
    assert data_folder() == Path.home() / "mine"
    monkeypatch.delenv("CLOZEFORMERS_HOME")
    assert data_folder() == Path("/cache/clozeformers")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "clozeformers"


def test_places_in_their_order(computer: Path) -> None:
    system = write_wordnet(computer / "system")
    archive = write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", system)
    assert find_dictionary() == archive
    unpacked = write_wordnet(computer / "nltk_data" / IN_DATA_FOLDER)
    own = write_wordnet(computer / "home" / IN_DATA_FOLDER)
    assert find_dictionary() == own
    assert [place for place in dictionary_places() if place.exists()] == [own, unpacked, archive, system]
    assert WordNet(archive).look_up("murdered", "verb") == WordNet(system).look_up("murdered", "verb")


def test_without_wordnet_the_error_names_the_commands(computer: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"`clozeformers wordnet install` .*`apt-get .*`python -m nltk\.down"):
        find_wordnet()
    system = write_system(computer)
    own = write_wordnet(computer / "home" / IN_DATA_FOLDER)
    (own / "data.verb").unlink()
    with pytest.raises(FileNotFoundError, match=f"{own} lacks data.verb; {system} lacks lexnames"):
        find_dictionary()


def test_the_systems_package_is_copied_and_completed(computer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = write_system(computer)
    place = install()
    assert place == computer / "home" / IN_DATA_FOLDER == find_dictionary()
    assert names(place) == names(system) | {"lexnames"}
    found = WordNet(place).look_up("murdered", "verb")
    # NLTK by itself reads it too.
    monkeypatch.setattr("nltk.data.path", [str(computer / "home")])
    with pytest.warns(UserWarning, match="multilingual"):
        wordnet = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    assert tuple(synset.definition() for synset in wordnet.synsets("murdered", "v")) == found.definitions


def test_nothing_is_installed_twice(computer: Path) -> None:
    place = write_wordnet(computer / "nltk_data" / IN_DATA_FOLDER)
    assert install() == place
    assert not (computer / "home").exists()


@pytest.mark.parametrize("packed", [True, False])
def test_it_is_downloaded_if_the_system_has_none(computer: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    def download(name: str, download_dir: str, **_: Any) -> None:
        if packed:
            write_archive(Path(download_dir, "corpora", "wordnet.zip"), write_wordnet(computer / "server"))
        else:
            write_wordnet(Path(download_dir, "corpora", "wordnet"))

    monkeypatch.setattr("nltk.download", download)
    assert install() == computer / "home" / IN_DATA_FOLDER == find_dictionary()
    assert names(computer / "home" / "corpora") == {"wordnet"}


def test_a_failed_download_names_the_commands(computer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no network.*`apt-get install wordnet-base"):
        install()
    assert names(computer / "home" / "corpora") == set()
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(ImportError, match=r'pip install "clozeformers\[wordnet\]"'):
        install(computer / "mine")


def test_a_failed_installation_leaves_nothing_behind(computer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(file: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    system = write_system(computer)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full_disk)
        with pytest.raises(OSError, match="No space left"):
            install()
    (system / "data.noun").write_text("00000000 03 n 01 cut")
    with pytest.raises(CorpusError, match=rf"{system}, data\.noun: the file is damaged"):
        install()
    assert names(computer / "home" / "corpora") == set()


def test_an_occupied_folder_is_left_as_it_is(computer: Path) -> None:
    place = computer / "home" / IN_DATA_FOLDER
    place.mkdir(parents=True)
    (place / "notes").write_text("mine")
    with pytest.raises(CorpusError, match=r"index\.noun: the file cannot be read.*delete the dictionary and install"):
        install()
    assert names(place) == {"notes"}


def test_a_damaged_archive_is_named(computer: Path) -> None:
    archive = write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", write_wordnet(computer / "somewhere"))
    content = bytearray(archive.read_bytes())
    start = content.index(b"wordnet/data.noun") + 60
    content[start : start + 20] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(CorpusError, match=r"wordnet\.zip, data\.noun: the file cannot be read"):
        find_wordnet()
    os.truncate(archive, 1500)
    with pytest.raises(CorpusError, match=r"wordnet\.zip, at its end: the archive is damaged"):
        find_dictionary()


def test_the_command(computer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wordnet", "status"]) == 2
    assert "clozeformers wordnet: error: WordNet is not installed" in capsys.readouterr().err
    write_system(computer)
    assert main(["wordnet", "install", "--folder", str(computer / "home")]) == 0
    place = computer / "home" / IN_DATA_FOLDER
    assert capsys.readouterr().out == f"WordNet is in {place}\n"
    assert main(["wordnet", "status"]) == 0
    assert capsys.readouterr().out == f"WordNet is in {place}: 9 words\n"
