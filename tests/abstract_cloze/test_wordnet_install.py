"""Where WordNet is found, and how it is installed."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from clozeformers.abstract_cloze import wordnet_install
from clozeformers.abstract_cloze.wordnet import WordNet, find_wordnet
from clozeformers.abstract_cloze.wordnet_install import (
    data_folder,
    dictionary_places,
    find_dictionary,
    install,
    lexnames,
)
from clozeformers.cli import main
from clozeformers.files import CorpusError

from ..wordnet_files import write_wordnet

IN_DATA_FOLDER = Path("corpora", "wordnet")


@pytest.fixture(autouse=True)
def computer(tmp_path, monkeypatch) -> Path:
    """A computer without WordNet and without a network; its folders are home, nltk_data and system."""
    monkeypatch.setenv("CLOZEFORMERS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)
    monkeypatch.setattr("nltk.data.path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(wordnet_install, "_SYSTEM_FOLDERS", [str(tmp_path / "system")])

    def no_network(name, print_error_to, **_):
        raise ValueError("Error loading wordnet: there is no network")

    monkeypatch.setattr("nltk.download", no_network)
    return tmp_path


def write_system(computer: Path) -> Path:
    """The system's package, which has no `lexnames`."""
    folder = write_wordnet(computer / "system")
    (folder / "lexnames").unlink()
    (folder / "index.sense").write_text("murder%1:04:00:: 00000000 1 0\n")
    (folder / "frames.vrb").write_text("1  Something ----s\n")
    return folder


def write_archive(path: Path, folder: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"wordnet/{file.name}")
        archive.writestr("wordnet/../../outside", "not to be written")
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_file_that_is_written_for_the_reader():
    rows = [line.split("\t") for line in lexnames().splitlines()]
    assert [int(number) for number, _, _ in rows] == list(range(45))
    assert [rows[number][1:] for number in (0, 1, 2, 3, 28, 29, 43, 44)] == [
        ["adj.all", "3"],
        ["adj.pert", "3"],
        ["adv.all", "4"],
        ["noun.Tops", "1"],
        ["noun.time", "1"],
        ["verb.body", "2"],
        ["verb.weather", "2"],
        ["adj.ppl", "3"],
    ]


def test_the_data_folder(monkeypatch, computer):
    assert data_folder() == computer / "home"
    monkeypatch.setenv("CLOZEFORMERS_HOME", "~/mine")
    assert data_folder() == Path.home() / "mine"
    monkeypatch.delenv("CLOZEFORMERS_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert data_folder() == Path("/cache/clozeformers")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_folder() == Path.home() / ".cache" / "clozeformers"


def test_the_places_in_their_order(monkeypatch, computer):
    monkeypatch.setenv("WNSEARCHDIR", "/search")
    monkeypatch.setenv("WNHOME", "/wordnet")
    assert [str(place) for place in dictionary_places()] == [
        str(computer / "home" / IN_DATA_FOLDER),
        str(computer / "nltk_data" / IN_DATA_FOLDER),
        str(computer / "nltk_data" / "corpora" / "wordnet.zip"),
        "/search",
        "/wordnet/dict",
        str(computer / "system"),
    ]


def test_each_place_is_found(computer):
    system = write_wordnet(computer / "system")
    assert find_dictionary() == system
    archive = write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", system)
    assert find_dictionary() == archive
    unpacked = write_wordnet(computer / "nltk_data" / IN_DATA_FOLDER)
    assert find_dictionary() == unpacked
    own = write_wordnet(computer / "home" / IN_DATA_FOLDER)
    assert find_dictionary() == own


def test_an_archive_is_read_as_it_is(computer):
    folder = write_wordnet(computer / "somewhere")
    archive = WordNet(write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", folder))
    for word in ("murdered", "found", "hidden", "white house", "nothing"):
        for part in ("noun", "verb", "adjective", "adverb"):
            assert archive.look_up(word, part) == WordNet(folder).look_up(word, part)


def test_without_wordnet_the_error_names_the_commands():
    with pytest.raises(FileNotFoundError) as caught:
        find_wordnet()
    for command in (
        "`clozeformers wordnet install`",
        "`apt-get install wordnet-base wordnet-sense-index`",
        "`python -m nltk.downloader wordnet`",
    ):
        assert command in str(caught.value)
    assert "lacks" not in str(caught.value)


def test_a_dictionary_that_lacks_a_file_is_not_taken(computer):
    system = write_system(computer)
    own = write_wordnet(computer / "home" / IN_DATA_FOLDER)
    (own / "data.verb").unlink()
    with pytest.raises(FileNotFoundError, match=f"{own} lacks data.verb; {system} lacks lexnames"):
        find_dictionary()


# ------------------------------------------------------------------------------------------------------------ install


def test_the_systems_package_is_completed(computer):
    system = write_system(computer)
    installed = install()
    assert installed.place == computer / "home" / IN_DATA_FOLDER == find_dictionary()
    assert installed.done == f"WordNet was copied from {system} to {installed.place}"
    assert names(installed.place) == names(system) - {"frames.vrb"} | {"lexnames"}
    assert names(installed.place.parent) == {"wordnet"}
    assert "lexnames" not in names(system)
    assert find_wordnet().look_up("murdered", "verb").found_by == "base form"


def test_nltk_itself_reads_what_was_installed(computer, monkeypatch):
    write_system(computer)
    monkeypatch.setattr("nltk.data.path", [str(computer / "home")])
    place = install().place
    with pytest.warns(UserWarning, match="multilingual"):
        wordnet = WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    assert [synset.definition() for synset in wordnet.synsets("murdered", "v")] == list(
        WordNet(place).look_up("murdered", "verb").definitions
    )


def test_what_is_done_is_not_done_again(computer):
    write_system(computer)
    place = install().place
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    again = install()
    assert again == (place, f"WordNet is in {place} already; nothing was done")
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_nothing_is_installed_where_nltk_has_it(computer):
    place = write_wordnet(computer / "nltk_data" / IN_DATA_FOLDER)
    assert install().place == place
    assert not (computer / "home").exists()


def test_a_folder_of_ones_own(computer):
    write_wordnet(computer / "nltk_data" / IN_DATA_FOLDER)
    system = write_system(computer)
    assert install(computer / "mine") == (
        computer / "mine" / IN_DATA_FOLDER,
        f"WordNet was copied from {system} to {computer / 'mine' / IN_DATA_FOLDER}",
    )


@pytest.mark.parametrize("packed", [True, False])
def test_it_is_downloaded_where_the_system_has_none(computer, monkeypatch, packed):
    def download(name, download_dir, **_):
        assert name == "wordnet"
        folder = write_wordnet(computer / "server")
        (folder / "README").write_text("not needed\n")
        corpora = Path(download_dir, "corpora")
        if packed:
            write_archive(corpora / "wordnet.zip", folder)
        else:
            shutil.copytree(folder, corpora / "wordnet")
        return True

    monkeypatch.setattr("nltk.download", download)
    place = install().place
    assert place == computer / "home" / IN_DATA_FOLDER == find_dictionary()
    assert names(place) == names(computer / "server") - {"README"}
    assert names(place.parent) == {"wordnet"}
    assert not list(computer.rglob("outside"))
    assert find_wordnet().look_up("secret", "noun").found_by == "tag"


def test_without_a_network_the_error_says_so_and_names_the_commands(computer):
    with pytest.raises(FileNotFoundError, match=r"there is no network.*`apt-get install wordnet-base"):
        install()
    assert names(computer / "home" / "corpora") == set()


def test_without_nltk_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    monkeypatch.setitem(sys.modules, "nltk.data", None)
    with pytest.raises(FileNotFoundError, match=r'pip install "clozeformers\[wordnet\]"'):
        install()


def test_without_nltk_the_systems_package_is_completed_all_the_same(computer, monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.data", None)
    write_system(computer)
    assert install().place == find_dictionary()


def test_a_half_written_copy_leaves_nothing_behind(computer, monkeypatch):
    write_system(computer)

    def full_disk(source, target):
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full_disk)
    with pytest.raises(OSError, match="No space left"):
        install()
    assert names(computer / "home" / "corpora") == set()


def test_a_copy_that_is_cut_off_is_not_taken(computer):
    system = write_system(computer)
    (system / "data.noun").write_text("00000000 03 n 01 cut")
    with pytest.raises(CorpusError, match=rf"{system}/data\.noun, at its end: the last line has no end"):
        install()
    assert names(computer / "home" / "corpora") == set()


def test_a_copy_with_a_damaged_index_is_not_taken(computer):
    system = write_system(computer)
    with (system / "index.noun").open("a") as file:
        file.write("secret n x 0 1 0 00000001\n")
    with pytest.raises(CorpusError, match=r"index\.noun, in a line of it: it is damaged"):
        install()
    assert names(computer / "home" / "corpora") == set()


def test_a_place_that_is_taken_is_left_as_it_is(computer):
    write_system(computer)
    place = computer / "home" / IN_DATA_FOLDER
    place.mkdir(parents=True)
    (place / "notes").write_text("mine")
    with pytest.raises(FileExistsError, match=r"lacks index\.noun.*delete it and install again"):
        install()
    assert names(place) == {"notes"}


def test_another_process_may_be_faster(computer, monkeypatch):
    write_system(computer)
    rename = Path.rename

    def late(path, target):
        write_wordnet(target)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    assert install().place == find_dictionary()
    assert names(computer / "home" / "corpora") == {"wordnet"}


@pytest.mark.parametrize("size", [0, 100, 1500])
def test_an_archive_that_is_cut_off_is_named(computer, size):
    archive = write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", write_wordnet(computer / "somewhere"))
    os.truncate(archive, size)
    with pytest.raises(CorpusError, match=r"wordnet\.zip, at its end: it is damaged"):
        find_dictionary()


def test_an_archive_with_a_damaged_file_is_named(computer):
    archive = write_archive(computer / "nltk_data" / "corpora" / "wordnet.zip", write_wordnet(computer / "somewhere"))
    content = bytearray(archive.read_bytes())
    start = content.index(b"wordnet/data.noun") + 60
    content[start : start + 20] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(CorpusError, match=r"wordnet\.zip, wordnet/data\.noun: it is damaged"):
        find_wordnet()


# ------------------------------------------------------------------------------------------------------------ command


def test_the_command_installs_and_tells(computer, capsys):
    assert main(["wordnet", "status"]) == 2
    assert "clozeformers wordnet: error: WordNet is not installed" in capsys.readouterr().err
    write_system(computer)
    assert main(["wordnet", "install", "--folder", str(computer / "home")]) == 0
    place = computer / "home" / IN_DATA_FOLDER
    assert capsys.readouterr().out == f"WordNet was copied from {computer / 'system'} to {place}\n"
    assert main(["wordnet", "status"]) == 0
    assert capsys.readouterr().out == f"WordNet is in {place}: 9 words\n"


def test_the_command_tells_what_is_missing(computer, monkeypatch, capsys):
    write_wordnet(computer / "home" / IN_DATA_FOLDER)
    monkeypatch.setitem(sys.modules, "nltk.corpus.reader.wordnet", None)
    assert main(["wordnet", "status"]) == 2
    assert 'pip install "clozeformers[wordnet]"' in capsys.readouterr().err
