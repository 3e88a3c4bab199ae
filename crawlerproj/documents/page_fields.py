"""What the archive says of a page beside its body."""

from __future__ import annotations

from typing import Any

from crawlerproj.items import Page


def header_lines(request: Any) -> list[tuple[str, str]]:
    """The headers of a request as the archive wants them."""
    if request is None:
        return []
    return [(name.decode("latin-1"), value.decode("latin-1"))
            for name, values in dict.items(request.headers) for value in values]


def page_metadata(page: Page) -> dict[str, object]:
    """What the archive's metadata record says of a page, beyond its timing, encoding and depth."""
    fields: dict[str, object] = {
        "outcome": page.errand.outcome if page.errand is not None else "", "language": page.language,
        "title": page.title, "duplicate_of": page.duplicate_of, "duplicate_kind": page.duplicate_kind,
        "malformed": page.malformed, "label": page.label, "soft_404": page.extracted.get("soft_404", ""),
        "robots": page.extracted.get("robots", ""),
    }
    return {name: value for name, value in fields.items() if value}
