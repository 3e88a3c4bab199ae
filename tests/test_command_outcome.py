"""How commands end: their reader leaves, they are interrupted, something else's pipe breaks."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from scrapy.commands import ScrapyCommand

from crawlerproj.commands.outcome import outcome
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.items import Link


class Command(ScrapyCommand):
    def short_desc(self):
        return ""

    def run(self, args, opts):
        pass


def test_a_reader_that_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "scrapy", "demoweb", "--truth", "--hosts", "20", "--pages", "400"]
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupted_build_says_so_in_a_line(tmp_path):
    log = EdgeLog(tmp_path / "edges")
    log.append("http://a.example/", [Link("http://b.example/")], 1.0)
    log.close()
    os.rename(tmp_path / "edges" / "edges-0-00000.zst", tmp_path / "log")
    os.mkfifo(tmp_path / "edges" / "edges-0-00000.zst")  # a log that takes its time
    command = [sys.executable, "-m", "scrapy", "graph", "build", "--dir", tmp_path]
    building = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
    )
    # Until the build opens the log, this waits.
    with (tmp_path / "edges" / "edges-0-00000.zst").open("wb", buffering=0) as pipe:
        building.send_signal(signal.SIGINT)
        with suppress(BrokenPipeError):  # it may have ended
            pipe.write((tmp_path / "log").read_bytes())  # a signal just before a read does not end the read
        out, err = building.communicate(timeout=60)
    assert (building.returncode, out) == (130, "")
    assert "scrapy graph build: interrupted" in err and "Traceback" not in err
    assert not list((tmp_path / "graph").glob("build-*"))


def test_expected_errors_are_a_line_and_others_are_not_hidden(capsys):
    command = Command()
    with outcome(command, "scrapy it", ValueError):
        raise ValueError("give a number")
    assert command.exitcode == 1
    assert capsys.readouterr().err == "scrapy it: give a number\n"
    with pytest.raises(KeyError), outcome(Command(), "scrapy it", ValueError):
        raise KeyError("a mistake in the program")


def test_a_pipe_that_is_not_the_output_is_an_error_like_others(capsys):
    command = Command()
    with outcome(command, "scrapy it", OSError):
        raise BrokenPipeError("the crawl has ended meanwhile")
    assert command.exitcode == 1
    assert "the crawl has ended meanwhile" in capsys.readouterr().err
