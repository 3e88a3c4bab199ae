"""The format that the README adds in ten lines, as it stands there."""

import textwrap
from pathlib import Path

import pytest
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.parse.convert import Converter

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def formats(tmp_path, monkeypatch):
    """The lines as a module that the worker process finds too."""
    lines = README.read_text().partition("named in CONVERT_MODULES\n")[2].partition("\n\n##")[0]
    (tmp_path / "formats_of_the_readme.py").write_text(textwrap.dedent(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "formats_of_the_readme"


def test_the_format_in_the_readme_is_converted(formats):
    async def convert():
        converter = Converter(modules=[formats])
        try:
            return await converter.convert("text/x-rst", b"A heading\n=========\n\nWords.")
        finally:
            converter.close()

    async def check():
        found = await convert()
        assert (found.title, found.text) == ("A heading", "A heading\n=========\n\nWords.")

    return deferred_from_coro(check())
