"""The Lua scripts, each with what it shares put before it."""

from __future__ import annotations

import hashlib
from importlib.resources import files

_HERE = files(__package__)  # also inside a zipped egg
_SHARED = {"rows_get": "tables", "rows_put": "tables", "start_urls": "", "roster": ""}
NAMES = ("offer", "commit", "contact", "front", "hosts", "known", "claim", "renew", "release",
         "rows_get", "rows_put", "start_urls", "roster")


def _text(name: str) -> bytes:
    """The first line (`#!lua flags=…`) has to stay the first one."""
    first, _, rest = (_HERE / f"{name}.lua").read_text().partition("\n")
    shared = _SHARED.get(name, "common")
    prelude = (_HERE / f"{shared}.lua").read_text() if shared else ""
    return f"{first}\n{prelude}{rest}".encode()


TEXTS = {name: _text(name) for name in NAMES}
DIGESTS = {name: hashlib.sha1(text).hexdigest().encode() for name, text in TEXTS.items()}
