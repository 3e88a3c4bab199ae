"""`scrapy frontier` on a running crawl (through its socket) and on a stopped one."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from .conftest import ROOT


def _command(*arguments, stdin=""):
    return subprocess.run([sys.executable, "-m", "scrapy", "frontier", *arguments], cwd=ROOT, input=stdin,
                          capture_output=True, text=True, timeout=120)


def test_a_running_crawl_answers_and_obeys(crawl_of, tmp_path):
    # A minute long, to be asked in its middle also on a busy machine; told to stop when all has been asked.
    crawl = crawl_of(51, 30, 900, DELAY_MINIMUM="2")
    process = crawl.start()
    try:
        while process.poll() is None and not (crawl.directory / "control").exists():
            time.sleep(0.01)
        while process.poll() is None and crawl.frontier("stats")["done"] < 30:
            pass
        stats = crawl.frontier("stats")
        assert stats["running"] and stats["queued"] > 0 and stats["outcomes"]["200"] > 0
        rows = crawl.frontier("hosts")["hosts"]
        assert rows and rows[0]["queued"] >= rows[-1]["queued"]

        victim = rows[0]["host"]
        banned = crawl.frontier("ban", victim)
        assert banned["banned"] and banned["host"] == victim
        before = sum(1 for url in crawl.fetched().elements() if victim in url)
        seeds = tmp_path / "more.txt"
        seeds.write_text(f"{crawl.web.seeds[0]}\nhttp://new.example/\nmailto:nobody@example.com\n")
        added = crawl.frontier("add", str(seeds))
        assert (added["read"], added["new"], added["known"]) == (3, 1, 1)
        assert crawl.frontier("why", "http://new.example/")["state"] in ("queued", "done")
        place = ("--dir", str(crawl.directory))
        # The command's standard input, not the crawl's.
        piped = _command("add", "-", "--json", *place, stdin="http://piped.example/\n")
        assert json.loads(piped.stdout)["new"] == 1, piped.stderr
        seeds.write_text("http://good.example/\nhttp://bad.example/\tpriority=high\n")
        bad = _command("add", str(seeds), *place)
        assert bad.returncode == 1 and "more.txt:2: 'priority=high'" in bad.stderr

        check = crawl.frontier("check")
        assert check["running"] and check["sound"], check
        goal = crawl.frontier("stats")["done"] + 60
        while process.poll() is None and crawl.frontier("stats")["done"] < goal:
            pass
        # At most the fetch that was under way when the order came.
        assert sum(1 for url in crawl.fetched().elements() if victim in url) <= before + 1
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output[-2000:]

    why = crawl.frontier("why", f"http://{victim}/")
    assert not crawl.frontier("stats")["running"]
    parked = crawl.frontier("hosts", "--parked")["hosts"]
    assert [row["parked"] for row in parked if row["host"] == victim] == ["banned"]
    assert why["host"] == victim
    assert not crawl.frontier("unban", victim)["banned"]
    crawl.extra["DELAY_MINIMUM"] = "0.02"
    assert crawl.run().returncode == 0
    crawl.assert_covered()


def test_a_stopped_crawl_answers_in_words_and_in_json(crawl_of, tmp_path):
    crawl = crawl_of(52, 5, 60)
    assert crawl.run().returncode == 0
    forbidden = crawl.web.truth().never
    place = ("--dir", str(crawl.directory))

    assert "done" in _command("stats", *place).stdout
    assert _command("check", *place).stdout.startswith("sound: 0 queued")
    why = crawl.frontier("why", crawl.web.seeds[0])
    assert (why["state"], why["outcome"], why["robots"]) == ("done", "200", "allowed")
    if forbidden:
        assert crawl.frontier("why", forbidden[0])["robots"] == "forbidden"
    assert "filters refuse it: extension" in _command("why", "http://a.example/x.zip", *place).stdout
    assert crawl.frontier("why", "http://never.example/")["state"] == "unknown"
    assert crawl.frontier("ban", "later.example")["banned"]
    seeds = tmp_path / "more.txt"
    seeds.write_text("http://later.example/\nhttp://b.example/\tpriority=high\n")
    bad = _command("add", str(seeds), *place)
    assert bad.returncode == 1 and "more.txt:2: 'priority=high'" in bad.stderr
    assert "Traceback" not in bad.stderr
    seeds.write_text("http://later.example/\n")
    assert crawl.frontier("add", str(seeds))["new"] == 1
    assert "never" in _command("why", "http://later.example/", *place).stdout  # banned: it has no wake time


def test_wrong_questions_get_a_remedy_and_an_exit_code(tmp_path):
    nowhere = _command("stats", "--dir", str(tmp_path / "none"))
    assert nowhere.returncode == 1 and "--dir" in nowhere.stderr
    assert _command("dance").returncode == 2
    assert _command("why").returncode == 2
    assert _command("hosts", "--limit", "0").returncode == 2
    assert "why a URL is" in _command("--help").stdout


def test_a_damaged_state_does_not_pass_the_check(crawl_of):
    crawl = crawl_of(53, 3, 30)
    assert crawl.run().returncode == 0
    from crawlerproj.storage.embedded import open_storage

    storage = open_storage(crawl.directory / "state")
    key = next(iter(storage.items("seen")))[0]
    storage._family["seen"].put(key, b"q")  # said to be queued, but in no run
    storage.close()

    done = _command("check", "--dir", str(crawl.directory))
    assert done.returncode == 1
    assert "NOT sound" in done.stdout
