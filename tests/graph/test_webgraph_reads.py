"""Java WebGraph reads what is written in its format, row by row. Skipped where it is not to be had.

    mvn dependency:get -Dartifact=it.unimi.dsi:webgraph:3.6.10

brings it and what it needs to ~/.m2; or name a folder with the jars in WEBGRAPH_JARS.
"""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from graph_samples import web

from crawlerproj.graph.classic_files import read_classic, write_classic
from crawlerproj.graph.rows import Rows

PARTS = ("webgraph", "dsiutils", "fastutil", "sux4j", "jsap", "slf4j-api", "commons-math3", "commons-lang3")
HINT = "to have it: mvn dependency:get -Dartifact=it.unimi.dsi:webgraph:3.6.10, or set WEBGRAPH_JARS"


@pytest.fixture(scope="module")
def class_path():
    named = os.environ.get("WEBGRAPH_JARS")
    folder = Path(named) if named else Path.home() / ".m2" / "repository"
    jars = []
    for part in PARTS:
        # As Maven lays them out (part/version/part-version.jar), or all in one folder.
        found = sorted([*folder.glob(f"**/{part}/*/{part}-[0-9]*.jar"), *folder.glob(f"{part}-[0-9]*.jar")])
        jars += [str(jar) for jar in found if "sources" not in jar.name][-1:]
    if not shutil.which("java") or not any(Path(jar).name.startswith("webgraph-") for jar in jars):
        pytest.skip(f"no Java, or no WebGraph in {folder}; {HINT}")
    return os.pathsep.join(jars)


def read_by_java(class_path, basename):
    command = ["java", "-XX:+UseSerialGC", "-cp", class_path, str(Path(__file__).with_name("ReadArcs.java"))]
    done = subprocess.run([*command, str(basename)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    rows = [np.array(line.split(), np.uint32) for line in reversed(lines)]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    assert head == f"{len(rows)} {starts[-1]}"
    return Rows(starts, np.concatenate(rows))


def same_rows(ours, theirs):
    return np.array_equal(ours.starts, theirs.starts) and np.array_equal(ours.targets, theirs.targets)


def test_a_web_with_empty_rows_and_loops(class_path, tmp_path):
    rows = web(700)
    lonely = Rows(np.append(rows.starts, [rows.arcs] * 9), rows.targets)
    write_classic([lonely], tmp_path / "web")
    assert same_rows(lonely, read_by_java(class_path, tmp_path / "web"))


def test_a_real_graph(class_path, cnr, tmp_path):
    rows = read_classic(cnr / "cnr-2000-t")
    write_classic([rows], tmp_path / "cnr")
    assert same_rows(rows, read_by_java(class_path, tmp_path / "cnr"))
