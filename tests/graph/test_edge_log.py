import os
import subprocess
import sys
import threading
import tracemalloc

import pytest
import zstandard

from crawlerproj.graph import edge_log as edge_log_module
from crawlerproj.graph import edge_log_files
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.edge_log import EdgeLog, recover
from crawlerproj.graph.edge_log_files import every_log, read_texts, whole_frames_length
from crawlerproj.graph.pipeline import LinkGraphPipeline
from crawlerproj.items import Link, Page

FIRST = "edges-0-00000.zst"


def text_of(directory, name=FIRST):
    return b"".join(read_texts(directory / name)).decode()


@pytest.fixture
def log(tmp_path):
    opened = EdgeLog(tmp_path)
    yield opened
    opened.close()


def test_a_page_is_written_with_its_links(log, tmp_path):
    links = [Link("http://b.example/", "to b", "nofollow"), Link("http://c.example/é")]
    assert log.append("http://a.example/", links, 1_700_000_000.25) == 2
    log.lengths()
    log.flush_and_sync()
    assert text_of(tmp_path) == (
        "\x01http://a.example/\t1700000000.250\nhttp://b.example/\tto b\tnofollow\nhttp://c.example/é\t\t\n"
    )


def test_a_foreign_zstd_reader_takes_the_file(log, tmp_path):
    for number in range(3):
        log.append(f"http://a.example/{number}", [Link("http://b.example/")], 1.0)
        log.lengths()
    log.flush_and_sync()
    with zstandard.open(tmp_path / FIRST, "rt", encoding="utf-8") as file:
        # This reader stops at the first frame unless told otherwise; the others are read by it in turn.
        assert file.read().startswith("\x01http://a.example/0\t")
    assert text_of(tmp_path).count("\x01") == 3


def test_one_link_to_be_cleaned_changes_no_other(log, tmp_path):
    good = [Link(f"http://{name}.example/", f"to {name}", "next") for name in "bcd"]
    log.append("http://a.example/1", good, 1.0)
    log.append("http://a.example/2", [*good, Link("http://e.example/", "a\x02b\t c", "x\ny")], 1.0)
    log.append("http://a.example/3", [*good, Link("http://e.example/\x7f"), Link("http://é.example/")], 1.0)
    log.lengths()
    log.flush_and_sync()
    lines = "".join(f"{url}\t{anchor}\t{rel}\n" for url, anchor, rel in good)
    assert text_of(tmp_path).split("\x01")[1:] == [
        f"http://a.example/1\t1.000\n{lines}",
        f"http://a.example/2\t1.000\n{lines}http://e.example/\ta b c\tx y\n",
        f"http://a.example/3\t1.000\n{lines}http://é.example/\t\t\n",
    ]


def test_nothing_an_author_writes_can_forge_a_line(log, tmp_path):
    log.append("http://a.example/", [
        Link("http://b.example/", " two\n\tlines\x01 \r\n", "no\tfollow"),
        Link("http://evil.example/\nhttp://x/"),
        Link("http://c.example/", "x" * 10_000),
    ], 1.0)  # fmt: skip
    log.append("http://evil.example/\t", [], 1.0)
    log.lengths()
    log.flush_and_sync()
    page, first, last = text_of(tmp_path).splitlines()
    assert page == "\x01http://a.example/\t1.000"
    assert first == "http://b.example/\ttwo lines\tno follow"
    assert last == "http://c.example/\t" + "x" * edge_log_module.ANCHOR_LENGTH + "\t"


def test_a_crash_leaves_the_committed_pages(tmp_path):
    log = EdgeLog(tmp_path)
    log.append("http://a.example/", [Link("http://b.example/")], 1.0)
    committed = log.lengths()
    log.append("http://lost.example/", [], 2.0)
    log.lengths()
    log.flush_and_sync()
    log.close()
    done = recover(tmp_path, committed)
    assert list(done.cut) == [FIRST] and not done.short
    assert (tmp_path / FIRST).stat().st_size == committed[FIRST]
    assert "lost" not in text_of(tmp_path)
    log = EdgeLog(tmp_path)
    log.append("http://c.example/", [], 3.0)
    log.close()
    assert text_of(tmp_path).count("\x01") == 2


def test_files_never_committed_are_deleted_and_others_stay(tmp_path):
    for worker in ("0", "1"):
        log = EdgeLog(tmp_path, worker)
        log.append("http://a.example/", [], 1.0)
        log.close()
    assert list(recover(tmp_path, {}).deleted) == [FIRST]
    assert [path.name for path in every_log(tmp_path)] == ["edges-1-00000.zst"]


def test_a_file_that_lost_its_end_is_cut_after_its_last_whole_frame(tmp_path):
    log = EdgeLog(tmp_path)
    log.append("http://a.example/", [], 1.0)
    first = log.lengths()[FIRST]
    log.append("http://b.example/", [], 2.0)
    committed = log.lengths()
    log.close()
    os.truncate(tmp_path / FIRST, committed[FIRST] - 3)
    assert recover(tmp_path, committed).short == {FIRST: committed[FIRST] - first}
    assert (tmp_path / FIRST).stat().st_size == first
    assert recover(tmp_path, {"edges-0-00007.zst": 5}).short == {"edges-0-00007.zst": 5}


def test_frames_that_lie_across_reads(tmp_path, monkeypatch):
    log, ends = EdgeLog(tmp_path), []
    for number in range(30):
        log.append(f"http://a.example/{number}", [Link("http://b.example/", "x" * number)], 1.0)
        ends.append(log.lengths()[FIRST])
    log.close()
    at_once = text_of(tmp_path)
    for most in (1, 7, 64, ends[3], ends[3] + 1):
        monkeypatch.setattr(edge_log_files, "_READ", most)
        assert text_of(tmp_path) == at_once
        assert whole_frames_length(tmp_path / FIRST) == ends[-1]
    os.truncate(tmp_path / FIRST, ends[-1] - 1)
    assert whole_frames_length(tmp_path / FIRST) == whole_frames_length(tmp_path / FIRST, ends[5]) == ends[-2]


def test_the_end_of_a_long_log_is_found_from_what_was_committed_in_little_memory(tmp_path):
    log = EdgeLog(tmp_path)
    for number in range(2_000):
        log.append(f"http://a.example/{os.urandom(900).hex()}", [], 1.0)
        log.lengths()
        if number == 1_000:
            log.flush_and_sync()
            committed = (tmp_path / FIRST).stat().st_size
    log.close()
    path = tmp_path / FIRST
    size = path.stat().st_size
    tracemalloc.start()
    assert whole_frames_length(path) == size
    assert tracemalloc.get_traced_memory()[1] < size / 4
    tracemalloc.stop()
    with path.open("r+b") as file:
        file.write(bytes(100))
    assert (whole_frames_length(path), whole_frames_length(path, committed)) == (0, size)
    assert whole_frames_length(path, size + 1) == 0  # the disk lost what was committed: it is looked through


def test_large_logs_go_on_in_a_new_file(tmp_path):
    log = EdgeLog(tmp_path, max_bytes=1)
    for number in range(3):
        log.append(f"http://a.example/{number}", [], 1.0)
        lengths = log.lengths()
        log.flush_and_sync()
    log.close()
    assert list(lengths) == ["edges-0-00002.zst"]
    assert [path.name[-9:-4] for path in every_log(tmp_path)] == ["00000", "00001", "00002"]


def test_memory_is_bounded_without_a_flush(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_log_module, "MAX_BUFFER", 1_000)
    monkeypatch.setattr(edge_log_module, "FRAME_TEXT", 1_000)
    log = EdgeLog(tmp_path)
    for number in range(300):
        log.append(f"http://a.example/{os.urandom(20).hex()}/{number}", [], 1.0)
        assert len(log._files.newest.waiting) < 3_000
    log.close()
    assert text_of(tmp_path).count("\x01") == 300


def test_appending_while_another_thread_syncs(tmp_path):
    log = EdgeLog(tmp_path)
    stop = threading.Event()

    def sync():
        while not stop.is_set():
            log.flush_and_sync(sync=False)

    thread = threading.Thread(target=sync)
    thread.start()
    for number in range(2_000):
        log.append(f"http://a.example/{number}", [Link("http://b.example/")], 1.0)
        if number % 7 == 0:
            log.lengths()
    stop.set()
    thread.join()
    log.close()
    assert text_of(tmp_path).count("\x01") == 2_000


def test_a_killed_process_keeps_what_it_committed(tmp_path):
    code = (
        "import os, signal, sys, pathlib\n"
        "from crawlerproj.graph.edge_log import EdgeLog\n"
        "log = EdgeLog(pathlib.Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    log.append(f'http://a.example/{n}', [], 1.0)\n"
        "lengths = log.lengths(); log.flush_and_sync()\n"
        "print(lengths['edges-0-00000.zst'], flush=True)\n"
        "for n in range(10**6):\n"
        "    log.append(f'http://lost.example/{n}', [], 1.0)\n"
        "    if n == 40000: log.flush_and_sync(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert run.returncode == -9, run.stderr
    recover(tmp_path, {FIRST: int(run.stdout)})
    assert text_of(tmp_path).count("\x01") == 50


def test_a_damaged_log_is_named_with_the_remedy(tmp_path):
    log = EdgeLog(tmp_path)
    log.append("http://a.example/", [], 1.0)
    log.close()
    path = tmp_path / FIRST
    path.write_bytes(b"not zstd at all" + path.read_bytes())
    with pytest.raises(DamagedGraph, match="move it away"):
        list(read_texts(path))


@pytest.mark.parametrize(("status", "kept"), [(200, 1), (301, 1), (404, 1), (304, 0), (429, 0), (503, 0)])
def test_the_pipeline_appends_what_a_page_says(log, tmp_path, status, kept):
    page = Page("http://a.example/", status, [], b"", 1.0, 0.1, links=[Link("http://b.example/")])
    assert LinkGraphPipeline(lambda: log).process_item(page) is page
    assert LinkGraphPipeline(lambda: log).process_item({"other": "item"}) == {"other": "item"}
    log.lengths()
    log.flush_and_sync()
    assert text_of(tmp_path).count("\x01") == kept


@pytest.mark.parametrize(("links", "kept"), [([], 1), ([Link("http://b.example/")], 2)])
def test_an_answer_that_was_cut_off_leaves_what_the_page_said_before_until_it_is_read(
    log, tmp_path, links, kept
):
    whole = Page("http://a.example/", 200, [], b"", 1.0, 0.1, links=[Link("http://b.example/")])
    cut = Page("http://a.example/", 200, [], b"", 2.0, 0.1, truncated="disconnect", links=links)
    too_long = Page("http://c.example/", 200, [], b"", 2.0, 0.1, truncated="length")
    for page in (whole, cut, too_long):
        LinkGraphPipeline(lambda: log).process_item(page)
    log.lengths()
    log.flush_and_sync()
    assert text_of(tmp_path).count("\x01http://a.example/") == kept
    assert text_of(tmp_path).count("\x01http://c.example/") == 1
