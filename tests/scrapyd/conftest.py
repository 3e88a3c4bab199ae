"""The project's egg, deployed by `make deploy` to a scrapyd of its own, and a demo web to crawl."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from scrapyd_server import BIN, PASSWORD, ROOT, USER, Scrapyd

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

# No package of tests may be called scrapyd, so pytest does not find the other tests' modules from here.
sys.path.append(str(ROOT / "tests"))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWebProcess]:
    log = tmp_path_factory.mktemp("web") / "access.jsonl"
    with start_demoweb(81, 16, 240, "mild", log) as web:
        web.log = log  # type: ignore[attr-defined]
        yield web


@pytest.fixture(scope="module")
def deployed(web: DemoWebProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    """scrapyd with the egg; the seeds of the demo web are in the egg alone."""
    for program in ("scrapyd", "scrapyd-deploy"):
        if not (BIN / program).exists():
            pytest.skip(f"{program} is missing: pip install -e '.[test]' brings it")
    checkout = tmp_path_factory.mktemp("checkout")
    for name in ("crawlerproj", "seeds"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "scrapy.cfg", "README.md", "Makefile"):
        shutil.copy(ROOT / name, checkout / name)
    (checkout / "seeds" / "demo.txt").write_text("\n".join(web.seeds))
    scrapyd = Scrapyd(tmp_path_factory.mktemp("scrapyd"))
    try:
        # `-o setup`: the environment is there already.
        make = ["make", "deploy", "-o", "setup", f"BIN={BIN}", f"SCRAPYD_URL={scrapyd.url}"]
        refused = subprocess.run(make, cwd=checkout, capture_output=True, text=True, timeout=120)
        assert refused.returncode != 0 and "401" in refused.stderr, refused.stdout + refused.stderr
        as_whom = [f"SCRAPYD_USERNAME={USER}", f"SCRAPYD_PASSWORD={PASSWORD}"]
        made = subprocess.run([*make, *as_whom], cwd=checkout, capture_output=True, text=True, timeout=120)
        assert made.returncode == 0 and '"spiders": ' in made.stdout, made.stdout + made.stderr
        assert not (checkout / "build").exists() and not (checkout / "setup.py").exists()
        yield scrapyd
    finally:
        scrapyd.stop()
