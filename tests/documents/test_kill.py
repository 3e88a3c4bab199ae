"""A writing process is killed with -9: what it had committed is there, whole and indexed, nothing else."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crawlerproj.documents.archive import Archive, recover
from crawlerproj.documents.check import check
from crawlerproj.documents.index import Index

ROOT = Path(__file__).resolve().parents[2]
WRITER = """
import json, os, sys
from pathlib import Path
from crawlerproj.documents.archive import Archive
from crawlerproj.items import Page

archive, lengths, number = Archive(Path(sys.argv[1]), max_bytes=60_000), {}, 0
while True:
    for _ in range(7):
        body = os.urandom(900)
        page = Page(f"http://a.example/{number}", 200, [("Content-Type", "text/html")], body, 1.7e9, 0.1)
        archive.write(page, [("User-Agent", "x")], metadata={"outcome": "done"})
        number += 1
    lengths |= archive.lengths()
    archive.flush_and_sync(sync=False)
    print(json.dumps([number, lengths]), flush=True)
"""


@pytest.mark.parametrize("commits", [1, 5, 23, 60])
def test_committed_pages_survive_a_kill_and_nothing_else_does(tmp_path, commits, page):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    for _ in range(commits):
        number, lengths = json.loads(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    done = recover(tmp_path, lengths)
    assert not done.short
    checked = check(tmp_path)
    assert checked.problems == []
    assert checked.records["response"] == checked.index_lines == number
    archive = Archive(tmp_path, max_bytes=60_000)
    archive.write(page("after"))
    archive.close()
    assert check(tmp_path).problems == []
    assert Index(tmp_path).find("http://a.example/after") is not None
