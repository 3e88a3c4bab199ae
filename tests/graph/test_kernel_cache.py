import subprocess
import sys

import pytest

from crawlerproj.graph.jit import cache_name, place_of_cache


def test_the_package_keeps_its_kernels(tmp_path):
    place = place_of_cache(tmp_path / "package", [tmp_path / "own"], "kernels-1")
    assert place == tmp_path / "package" / "kernels-1"
    assert not (tmp_path / "own").exists()


def test_kernels_of_a_read_only_package_are_copied_once(tmp_path):
    package, own = tmp_path / "package", tmp_path / "own"
    kept = package / "kernels-1" / "graph_x"
    kept.mkdir(parents=True)
    (kept / "index").write_bytes(b"compiled")

    def place():
        return place_of_cache(package, [own], "kernels-1", writable=lambda folder: folder.parent == own)

    assert place() == own / "kernels-1"
    copied = own / "kernels-1" / "graph_x" / "index"
    assert copied.read_bytes() == b"compiled"
    copied.write_bytes(b"more")
    assert place() == own / "kernels-1"
    assert copied.read_bytes() == b"more"
    assert [path.name for path in own.iterdir()] == ["kernels-1"]


def test_without_any_place_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert place_of_cache(tmp_path / "file", [tmp_path / "file" / "own"], "kernels-1") is None


def test_the_name_is_that_of_the_text():
    assert cache_name() == cache_name()
    assert cache_name().startswith("kernels-")


@pytest.mark.parametrize("memory", [1 << 30, 100_000])
def test_a_build_after_warming_compiles_nothing(tmp_path, memory):
    code = f"""
import pathlib, sys
from numba.core.dispatcher import Dispatcher
from crawlerproj.graph import build, connectivity, edge_log, rank, warm
from crawlerproj.items import Link

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("crawlerproj.graph")]
    kernels = {{id(k): k for m in modules for k in vars(m).values() if isinstance(k, Dispatcher)}}
    return {{(k.__module__, k.__name__, s) for k in kernels.values() for s in k.signatures}}

warm.warm()
before = compiled()
folder = pathlib.Path({str(tmp_path)!r})
log = edge_log.EdgeLog(folder / "edges")
for n in range(3_000):
    links = [Link(f"http://h{{m % 70}}.example/{{m}}", f"to {{m}}") for m in range(n, n + 5)]
    log.append(f"http://h{{n % 70}}.example/{{n}}", links, 1.0)
log.close()
build.build(folder / "edges", folder / "graph", 0.0, memory={memory})
server = connectivity.ConnectivityServer.open(folder / "graph")
url = server.top(1)[0][0]
server.anchors(url), server.degree(url), server.neighbourhood(url, 2), server.inlinks_of([url])
server.path(url, server.outlinks(url)[0]), server.top(3, "out", "host")
rank.pagerank(server.level("host").back, memory=1)
print(sorted(compiled() - before))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
