"""Programs written by others read the archive: warcio, FastWARC, pywb."""

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from crawlerproj.documents.archive import Archive, Former
from crawlerproj.documents.index import Index
from crawlerproj.documents.records import digest

URLS = [
    "http://a.example/", "http://a.example/Path/Index.HTML", "http://www.a.example/www?b=2&a=1",
    "https://b.example:8443/x/", "http://127.0.0.1:8080/y", "http://xn--bcher-kva.example/%C3%A4?q=%20",
    "http://a.example/deep/path.php?x=&y&z=1", "http://a.example/trailing/?",
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory, page):
    """An archive with all kinds of records, over several files: its directory."""
    directory = tmp_path_factory.mktemp("crawl") / "warc"
    archive = Archive(directory, max_bytes=3_000)
    for number, url in enumerate(URLS):
        body = f"<html><p>This is {url}</p></html>".encode()
        fields = {"url": url, "ip_address": "127.0.0.1", "protocol": "HTTP/2" if number % 2 else "HTTP/1.1"}
        archive.write(
            page(body=body, **fields), request_headers=[("User-Agent", "x")], metadata={"language": "en"}
        )
        archive.write(page(body=os.urandom(300), **fields | {"url": url + "&random"}, truncated="length"))
    hello = Former("http://a.example/again", 1_700_000_000.25, digest(b"<p>hello</p>"))
    archive.write(page(url=hello.url))
    archive.write(page(url=hello.url, fetched_at=1_700_086_400.0), former=hello)
    archive.write(page(url=hello.url, fetched_at=1_700_172_800.0, status=304, body=b""), former=hello)
    archive.write(page(url="http://a.example/copy"), former=hello)
    archive.write(page(url="http://a.example/moved", status=301, body=b"",
                        headers=[("Location", "http://a.example/")]))
    archive.close()
    return directory


def test_warcio_check_finds_no_error(crawl):
    files = [str(path) for path in sorted(crawl.glob("*.warc.gz"))]
    assert len(files) > 2
    done = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", "-v", *files], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "digest pass" in done.stdout and "fail" not in done.stdout


def test_fastwarc_reads_every_record_with_good_digests(crawl):
    kinds = []
    for path in sorted(crawl.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.any_type, parse_http=False):
                assert record.verify_block_digest(), record.headers
                kinds.append(record.headers["WARC-Type"])
    assert kinds.count("response") == 2 * len(URLS) + 2
    assert kinds.count("request") == kinds.count("metadata") == len(URLS)
    assert kinds.count("revisit") == 3


@pytest.fixture(scope="module")
def pywb():
    """The folder of pywb's programs: its own environment, since it wants an old Redis client."""
    wayback = Path(sys.prefix) / "pywb" / "bin" / "wayback"
    found = str(wayback) if wayback.exists() else shutil.which("wayback")
    if found is None:
        home = Path(sys.prefix) / "pywb"
        pytest.skip(f"pywb is not here: python -m venv {home} && {home}/bin/pip install 'pywb>=2.10,<3'")
    return Path(found).parent


def test_the_index_is_the_one_that_pywb_would_make(crawl, pywb):
    files = [str(path) for path in sorted(crawl.glob("*.warc.gz"))]
    command = [pywb / "cdx-indexer", "-j", "-s", *files]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = sorted(
        (line.split(" ", 2)[:2], '"offset": "' + line.split('"offset": "')[1].split('"')[0])
        for line in made.stdout.splitlines() if not line.startswith(" CDX")
    )
    ours = sorted(
        ([entry.key, entry.timestamp], f'"offset": "{entry.offset}') for entry in Index(crawl).entries()
    )
    assert ours == theirs


@pytest.fixture(scope="module")
def wayback(crawl, pywb, tmp_path_factory):
    """A running pywb on the archive and its exported index: the URL of its collection."""
    home = tmp_path_factory.mktemp("pywb")
    with (home / "index.cdxj").open("wb") as file:
        file.writelines(Index(crawl).lines())
    (home / "config.yaml").write_text(
        f"collections:\n  crawl:\n    index_paths: {home}/index.cdxj\n    archive_paths: {crawl}/\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [pywb / "wayback", "-p", str(port), "-b", "127.0.0.1"], cwd=home, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if "Starting Gevent Server" in line:
                break
        else:
            pytest.fail("pywb did not start: " + "".join(said))
        _until_listening(port)
        yield f"http://127.0.0.1:{port}/crawl"
    finally:
        process.terminate()
        process.communicate()


def _until_listening(port):
    """It says that it starts a moment before it listens."""
    for _ in range(10_000):
        with socket.socket() as attempt:
            attempt.settimeout(10)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
    pytest.fail("pywb does not listen")


def fetch(address):
    request = urllib.request.Request(address)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as response:
        return response.read(), response.headers


@pytest.mark.parametrize("url", URLS)
def test_pywb_replays_everypage(wayback, url):
    body, headers = fetch(f"{wayback}/20231114221320id_/{url}")
    assert body == f"<html><p>This is {url}</p></html>".encode()
    assert headers["Memento-Datetime"] == "Tue, 14 Nov 2023 22:13:20 GMT"


@pytest.mark.parametrize("url, time", [
    ("http://a.example/again", "20231115221320"), ("http://a.example/copy", "20231114221320"),
])
def test_pywb_resolves_revisits(wayback, url, time):
    assert fetch(f"{wayback}/{time}id_/{url}")[0] == b"<p>hello</p>"
