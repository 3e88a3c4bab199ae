"""Who may import whom: rooms are plain, adapters are named, engines stay behind the storage interface."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "crawlerproj"
ROOMS = {"frontier", "fetch", "parse", "documents", "graph", "freshness", "focus", "dashboard"}
# The files of rooms that may talk to Scrapy and know the assembly.
ADAPTERS = {
    "frontier/scheduler.py", "frontier/downloader.py", "frontier/requests.py", "frontier/short_way.py",
    "fetch/curl_handler.py", "fetch/curl_transfer.py", "fetch/resolver.py", "fetch/middlewares.py",
    "fetch/outcomes.py", "fetch/curl_response.py", "fetch/polite_slot.py",
    "fetch/checked_addresses.py",
    "parse/responses.py", "documents/pipelines.py", "documents/door_pages.py", "graph/pipeline.py",
    "addon.py", "feed_files.py", "assembly.py", "parts.py", "settings.py", "progress.py", "summary.py",
    "log.py", "signals.py", "stats.py", "stats_log.py",
}
ADAPTER_ROOMS = {"spiders", "commands", "control"}
# library -> the only places that may import it
KEPT_IN = {
    "rocksdict": ("storage/embedded",),
    "redis": ("storage/redis",),
    "selectolax": ("parse/",),
    "numpy": ("documents/", "graph/", "freshness/", "focus/"),
    "fastwarc": ("documents/",),
    "pycurl": ("fetch/",),
}


def modules() -> Iterator[tuple[str, list[str]]]:
    """Each module's path within the package, and what it imports."""
    for path in sorted(PACKAGE.rglob("*.py")):
        imported = []
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                here = ["crawlerproj", *path.relative_to(PACKAGE).parts[:-1]]
                base = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
                imported.append(".".join(filter(None, (base, node.module))))
        yield path.relative_to(PACKAGE).as_posix(), imported


MODULES = dict(modules())


def is_adapter(name: str) -> bool:
    return name in ADAPTERS or name.split("/")[0] in ADAPTER_ROOMS


@pytest.mark.parametrize("name", MODULES)
def test_a_plain_module_imports_no_scrapy_no_other_room_and_no_engine(name):
    if is_adapter(name):
        return
    room = name.split("/")[0]
    for module in MODULES[name]:
        top, *rest = module.split(".")
        assert top not in ("scrapy", "twisted"), f"{name} imports {module}"
        if top != "crawlerproj" or not rest or rest[0] == room:
            continue
        assert rest[0] not in ADAPTER_ROOMS | {"assembly", "settings"}, f"{name} imports {module}"
        if room in ROOMS:
            assert rest[0] not in ROOMS, f"{name} imports another room: {module}"
            assert rest[0] != "storage" or module.endswith("storage.interface"), f"{name} imports {module}"


@pytest.mark.parametrize("library", KEPT_IN)
def test_a_library_is_imported_only_where_it_belongs(library):
    for name, imported in MODULES.items():
        if any(module.split(".")[0] == library for module in imported):
            assert name.startswith(KEPT_IN[library]), f"{name} imports {library}"


@pytest.mark.parametrize("name", MODULES)
def test_no_module_is_two_modules(name):
    lines = len((PACKAGE / name).read_text().splitlines())
    assert lines <= 440, f"{name} has {lines} lines"


def test_no_room_for_leftovers():
    for name in MODULES:
        assert not {"utils", "core", "common", "base.py", "helpers"} & set(name.split("/"))
