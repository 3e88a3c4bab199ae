"""The project as an egg on a real scrapyd: scheduled, cancelled, killed, scheduled again, finished."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.error
import zipfile
from collections import Counter

import pytest
from scrapyd_server import ROOT, wait_for
from storage.redis_server import PROGRAM, Server
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.demoweb.coverage import coverage

# The rules are the product's, the waits are not.
HASTE = {
    "DELAY_MINIMUM": "0.02", "DELAY_FACTOR": "2", "BACKOFF_BASE": "0.2", "BACKOFF_MAXIMUM": "2",
    "IDLE_HORIZON": "5", "FETCH_PRIVATE_ADDRESSES": "1", "DISK_FREE_MINIMUM": "0", "LOGSTATS_INTERVAL": "0.5",
}
# The default CRAWL_DIR lies below scrapyd's own directory, whatever the job.
CRAWL_DIR = "crawls/web"


def _settings(web, **more):
    return {**HASTE, "DNS_SERVERS": web.dns_server, **more}


def _fetched(web):
    return Counter(line["url"] for line in map(json.loads, web.log.read_text().splitlines()) if "url" in line)


def _stored(directory):
    found = Counter()
    for path in (directory / "warc").glob("*.warc.gz"):
        with path.open("rb") as stream:
            records = ArchiveIterator(stream)
            found.update(record.rec_headers.get_header("WARC-Target-URI") for record in records
                         if record.rec_type == "response")
    return found


def _assert_ended(log, how):
    error = log.find("Traceback")
    assert error < 0, log[max(0, error - 1000):error + 6000]
    assert f"Spider closed ({how})" in log, log[-3000:]


def _wait_for_progress(deployed, job):
    wait_for(lambda: " done  " in deployed.job_log(job), "progress in the log", lambda: deployed.job_log(job))


def test_without_the_password_nothing_is_told_or_done(deployed):
    for password in ("", "wrong"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            deployed.ask("schedule.json", password, post={"project": "crawlerproj", "spider": "web"})
        assert refused.value.code == 401


def test_a_cancelled_and_a_killed_job_go_on_whatever_their_ids(deployed, web):
    settings = _settings(web)
    first = deployed.schedule(settings, seeds="seeds/demo.txt", jobid="one")
    _wait_for_progress(deployed, first)
    cancelled = deployed.ask("cancel.json", post={"project": "crawlerproj", "job": first})
    assert cancelled["prevstate"] == "running"
    log = deployed.wait_until(first, "finished")
    _assert_ended(log, "shutdown")

    second = deployed.schedule(settings, seeds="seeds/demo.txt")
    _wait_for_progress(deployed, second)
    jobs = deployed.ask("listjobs.json", project="crawlerproj")["running"]
    os.kill(next(job["pid"] for job in jobs if job["id"] == second), signal.SIGKILL)
    deployed.wait_until(second, "finished")

    third = deployed.schedule(settings, seeds="seeds/demo.txt", jobid="three")
    log = deployed.wait_until(third, "finished")

    _assert_ended(log, "finished")
    assert "URLs done (" in log and " queued  " in log
    assert len({first, second, third}) == 3
    found = coverage(web.truth(), _fetched(web), _stored(deployed.directory / CRAWL_DIR))
    assert found.holds, found.as_text()
    judged = subprocess.run([sys.executable, "-m", "scrapy", "politeness", str(web.log), "--factor", "2",
                             "--minimum", "0.02"], cwd=ROOT, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr


@pytest.mark.skipif(PROGRAM is None, reason="redis-server is missing: apt-get install redis-server")
def test_several_jobs_of_one_crawl_form_a_fleet_and_go_on_after_a_cancel(deployed, web):
    server = Server()
    before = _fetched(web)
    # The horizon: who comes after a slow job waits for the hosts it has just been to instead of ending.
    settings = _settings(web, STORAGE=server.url, CRAWL_DIR="crawls/fleet", LEASE_SECONDS="6",
                         IDLE_HORIZON="100")
    slow = {"DELAY_MINIMUM": "5"}  # none ends before it is cancelled

    def shares():
        with server.client() as client:
            rows = client.hgetall("web:{fleet}:status").values()
            return sorted(json.loads(row)["partitions"] for row in rows)

    try:
        jobs = [deployed.schedule(settings | slow, seeds="seeds/demo.txt") for _ in range(2)]
        wait_for(lambda: shares() == [32, 32], "both to have their share",
                 lambda: f"{shares()}\n" + "\n".join(deployed.job_log(job)[-2000:] for job in jobs))
        for job in jobs:
            deployed.ask("cancel.json", post={"project": "crawlerproj", "job": job})
        for job in jobs:
            assert "Spider closed (shutdown)" in deployed.wait_until(job, "finished")

        again = [deployed.schedule(settings, seeds="seeds/demo.txt") for _ in range(2)]
        for job in again:
            log = deployed.wait_until(job, "finished")
            _assert_ended(log, "finished")
            assert " queued  " in log and " -" not in "".join(re.findall(r"done .* queued", log))
    finally:
        server.close()
    stored = _stored(deployed.directory / "crawls/fleet")
    assert not set(web.truth().must) - set(stored)
    repeated = {url for url, n in (_fetched(web) - before).items() if n > 1}
    assert not repeated - {url for url in repeated if url.endswith("/robots.txt")}


def test_the_egg_s_own_seeds_are_found_and_a_wrong_name_is_told(deployed, web):
    wrong = deployed.schedule(_settings(web, CRAWL_DIR="crawls/wrong"), seeds="seeds/none.txt")

    log = deployed.wait_until(wrong, "finished")

    assert "no seed file 'seeds/none.txt'" in log and ".egg" in log


def test_the_egg_has_every_package_and_its_data(deployed):
    eggs = list((deployed.directory / "eggs" / "crawlerproj").glob("*.egg"))
    names = set(zipfile.ZipFile(eggs[0]).namelist())

    assert {"crawlerproj/seeds/edu.txt", "crawlerproj/urls/advertisements.txt"} <= names
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {".".join(path.parent.relative_to(ROOT).parts)
                for path in (ROOT / "crawlerproj").rglob("__init__.py")}
    assert packages <= set(listed)
    data = [path.relative_to(ROOT).as_posix() for pattern in ("*.txt", "*.lua", "*.html", "*.css", "*.js")
            for path in (ROOT / "crawlerproj").rglob(pattern)]
    assert set(data) <= names


def test_the_data_can_be_read_out_of_the_egg(deployed, tmp_path):
    egg = next((deployed.directory / "eggs" / "crawlerproj").glob("*.egg"))
    program = ("from crawlerproj.urls.blacklist import advertisements, files\n"
               "from crawlerproj.urls.seeds_file import read_seeds\n"
               "print(files('crawlerproj'), len(list(read_seeds('seeds/edu.txt'))),\n"
               "      advertisements().has_host('ad.doubleclick.net'))")
    told = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(egg)})

    place, seeds, refused = told.stdout.split()
    assert ".egg" in place and int(seeds) > 0 and refused == "True", told.stderr
