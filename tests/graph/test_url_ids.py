import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.substrings import Speller, learn, table_from
from crawlerproj.graph.url_ids import BLOCK, UrlIds
from crawlerproj.graph.url_ids_write import UrlIdsWriter
from crawlerproj.graph.url_keys import find_byte, host_of_key, host_prefix, key_of, url_of

LABEL = st.text("abcxyz0-~!$", min_size=1, max_size=6)
HOST = st.lists(LABEL, min_size=1, max_size=4).filter(lambda labels: labels[-1][0] != "~").map(".".join)
URL = st.builds(
    "{}://{}{}/{}".format, st.sampled_from(["http", "https"]), HOST, st.sampled_from(["", ":8080"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=300), max_size=30),
)  # fmt: skip


def written(path, keys):
    writer = UrlIdsWriter(path, len(keys), keys)
    writer.add(keys[: len(keys) // 3])
    writer.add(keys[len(keys) // 3 :])
    assert writer.close() == path.stat().st_size
    return UrlIds(path)


@settings(deadline=None)
@given(st.one_of(URL, st.text(max_size=40)))
def test_a_key_turns_back_into_its_url(url):
    assert url_of(key_of(url)) == url


@settings(deadline=None)
@given(URL)
def test_the_host_is_told_by_the_key(url):
    key = key_of(url)
    assert host_of_key(key) == url.partition("://")[2].partition("/")[0]
    assert key.startswith(host_prefix(key))


@pytest.mark.parametrize(("url", "key"), [
    ("https://www.example.com:8080/a?b", b"com,example,www:8080)s/a?b"),
    ("http://example.com/", b"com,example)/"),
    ("http://[::1]:80/x", b"[::1]:80)/x"),
    ("http://example.com", b"~http://example.com"),
    ("http:///x", b"~http:///x"),
    ("http://a,b/x", b"~http://a,b/x"),
    ("http://a.b~~.~user:80/x", b"~http://a.b~~.~user:80/x"),
    ("http://~/", b"~http://~/"),
    ("http://~a.b~/", b"b~,~a)/"),
    ("ftp://a/x", b"~ftp://a/x"),
    ("", b"~"),
])  # fmt: skip
def test_keys(url, key):
    assert key_of(url) == key
    assert url_of(key) == url


def test_hosts_of_one_domain_are_neighbours():
    urls = ["http://b.a.com/", "http://a.com/z", "https://a.com/a", "http://a.org/", "http://c.a.com/"]
    ordered = [url_of(key) for key in sorted(map(key_of, urls))]
    assert ordered == [urls[1], urls[2], urls[0], urls[4], urls[3]]


@settings(deadline=None, max_examples=40)
@given(st.sets(URL, max_size=300), st.lists(URL, max_size=20))
def test_numbers_are_ranks(tmp_path_factory, urls, others):
    keys = sorted(map(key_of, urls))
    ids = written(tmp_path_factory.mktemp("urls") / "urls", keys)
    assert len(ids) == len(keys)
    assert list(ids.keys()) == keys
    for number, key in enumerate(keys):
        assert ids.id_of(url_of(key)) == number
        assert ids.url_of(number) == url_of(key)
    for url in others:
        below = sum(key < key_of(url) for key in keys)
        assert ids.rank(key_of(url)) == (below if url in urls else -1 - below)
    assert ids.url_of(-1) is None and ids.url_of(len(keys)) is None


def test_many_blocks_learned_substrings_and_long_urls(tmp_path):
    keys = sorted(
        key_of(f"http://h{n % 50}.example/{n * 7919 % 10007}/page.html?x={n}") for n in range(9_000)
    )
    keys += [key_of("http://zz.example/" + "long" * 400 + str(n)) for n in range(10)]
    ids = written(tmp_path / "urls", keys)
    assert [ids.id_of_key(key) for key in keys[::17]] == list(range(0, len(keys), 17))
    assert [ids.key_of_id(number) for number in range(8_990, len(keys))] == keys[8_990:]
    assert ids.range_of(b"example,h7)") == range(
        keys.index(next(k for k in keys if k.startswith(b"example,h7)"))),
        max(i for i, k in enumerate(keys) if k.startswith(b"example,h7)")) + 1,
    )  # fmt: skip


def test_more_separators_than_are_kept_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("crawlerproj.graph.url_ids._SEPARATORS_IN_MEMORY", 3)
    keys = sorted(key_of(f"http://h.example/{n}") for n in range(20 * BLOCK))
    ids = written(tmp_path / "urls", keys)
    assert [ids.id_of_key(key) for key in keys] == list(range(len(keys)))


def test_any_damage_is_reported_never_a_crash_or_a_wrong_letter(tmp_path):
    keys = sorted(key_of(f"http://h{n % 9}.example/{n}/page.html") for n in range(5_000))
    written(tmp_path / "urls", keys)
    whole = np.fromfile(tmp_path / "urls", np.uint8)
    assert int(whole[24:28].view(np.uint32)[0])  # substrings were learned
    rng = np.random.default_rng(5)
    for _ in range(150):
        broken = whole.copy()
        broken[rng.integers(len(broken) - 1)] ^= 1 << rng.integers(8)  # the last byte is spare
        if rng.random() < 0.2:
            broken = broken[: rng.integers(1, len(broken))]
        broken.tofile(tmp_path / "broken")
        with pytest.raises(DamagedGraph):
            list(UrlIds(tmp_path / "broken").keys())
        with pytest.raises(DamagedGraph):
            ids = UrlIds(tmp_path / "broken")
            for key in keys[::BLOCK]:
                ids.rank(key)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("ab/.-é\0", max_size=25), max_size=60), st.lists(st.text(max_size=40), max_size=20))
def test_texts_are_told_in_the_codes_of_any_table(learned, texts):
    table = table_from(learn([text.encode() for text in learned] * 9, 4_096).to_bytes())
    told = [text.encode("utf-8", "surrogatepass") for text in learned + texts]
    lengths = np.array([len(text) for text in told], np.int64)
    codes, sizes = Speller(table).spell(np.frombuffer(b"".join(told), np.uint8), lengths)
    substrings, at = table.texts(), 0
    for text, size in zip(told, sizes, strict=True):
        end, read = at + size, b""
        while at < end:
            number, at = int(codes[at]), at + 1
            if number >= table.ones:
                number, at = table.ones + ((number - table.ones) << 8) + int(codes[at]), at + 1
            read += substrings[number]
        assert (read, at) == (text, end)


def test_what_comes_again_and_again_takes_a_byte():
    sample = [f"page-{n}.html".encode() for n in range(2_000)]
    lengths = np.array([len(text) for text in sample])
    codes, _ = Speller(learn(sample, 8_192)).spell(np.frombuffer(b"".join(sample), np.uint8), lengths)
    assert len(codes) < 4 * len(sample)


def test_a_missing_dictionary_tells_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match="graph build"):
        UrlIds(tmp_path / "urls")


@given(st.binary(max_size=60), st.integers(0, 255), st.integers(0, 60))
@settings(deadline=None)
def test_bytes_are_found_eight_at_a_time(data, byte, start):
    start = min(start, len(data))
    place = data.find(bytes([byte]), start)
    assert find_byte(np.frombuffer(data, np.uint8), start, byte) == (place if place >= 0 else len(data))
