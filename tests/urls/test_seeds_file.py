import gzip
import io
import itertools
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from crawlerproj.urls.canonical import Speller
from crawlerproj.urls.seeds_file import Seed, read_seeds


def test_lines_carry_priority_and_label(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text(
        "\ufeff# comment\n\nhttps://a.edu/#x\tpriority=3\tlabel=two words\nb.edu:81/x?u=http://c\n", "utf-8"
    )
    assert list(read_seeds(str(path))) == [
        Seed("https://a.edu/#x", 3, "two words", 3),
        Seed("http://b.edu:81/x?u=http://c", 0, "", 4),
    ]


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt.gz"
    path.write_bytes(gzip.compress(b"https://a.edu/\n"))
    assert [seed.url for seed in read_seeds(str(path))] == ["https://a.edu/"]


@pytest.mark.parametrize(
    "packed", [gzip.compress(b"https://a.edu/\n" * 99)[:-9], b"https://a.edu/\n"], ids=["cut", "plain"]
)
def test_a_broken_packed_file_is_named(tmp_path: Path, packed: bytes) -> None:
    path = tmp_path / "seeds.txt.gz"
    path.write_bytes(packed)
    with pytest.raises(ValueError, match=r"seeds\.txt\.gz is no whole gzip file"):
        list(read_seeds(str(path)))


def test_a_comma_list_of_urls_keeps_commas_of_urls() -> None:
    seeds = read_seeds("https://a.edu/x,y, http://b.edu/")
    assert [seed.url for seed in seeds] == ["https://a.edu/x,y", "http://b.edu/"]


def test_standard_input_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.StringIO):
        def __next__(self) -> str:
            return "a.edu\n"

    monkeypatch.setattr("sys.stdin", Endless())
    assert [seed.url for seed in itertools.islice(read_seeds("-"), 2)] == ["http://a.edu"] * 2


@pytest.mark.parametrize("name", ["edu.txt", "seeds/edu.txt"])
def test_shipped_seeds_are_found_from_anywhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    urls = [seed.url for seed in read_seeds(name)]
    assert len(urls) >= 40
    assert [Speller().spell(url) for url in urls] == urls


def test_shipped_lists_are_read_from_a_zip(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    egg = tmp_path / "crawlerproj.egg"
    with zipfile.ZipFile(egg, "w") as packed:
        packed.writestr("crawlerproj/__init__.py", "")
        for folder, name in (("crawlerproj/urls", "crawlerproj/urls"), ("seeds", "crawlerproj/seeds")):
            for file in (root / folder).iterdir():
                if file.suffix in (".py", ".txt"):
                    packed.write(file, f"{name}/{file.name}")
    script = (
        "from crawlerproj.urls import filters, seeds_file\n"
        "assert filters.advertisements().has_host('ad.doubleclick.net')\n"
        "print(seeds_file.__file__, len(list(seeds_file.read_seeds('edu.txt'))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(egg)}, capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(egg))
    assert int(done.stdout.split()[-1]) >= 40


def test_a_missing_file_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as error:
        read_seeds("nowhere.txt")
    assert str(tmp_path / "nowhere.txt") in str(error.value)
    assert "standard input" in str(error.value)


def test_an_unknown_attribute_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("a.edu\nb.edu\tpriority=high\n")
    with pytest.raises(ValueError, match=r"seeds\.txt:2: 'priority=high'"):
        list(read_seeds(str(path)))
