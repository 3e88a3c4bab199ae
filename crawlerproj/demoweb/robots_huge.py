"""Hosts whose robots.txt is larger than what must be read of it (RFC 9309, 2.5: 500 KiB)."""

from crawlerproj.demoweb.answers import PLAIN, Answer
from crawlerproj.demoweb.nuisance import Nuisance

_BEFORE_BYTES = 300 << 10
_AFTER_BYTES = 500 << 10
_COMMENT = b"# " + b"-" * 97 + b"\n"


class RobotsHuge(Nuisance):
    """Meets a share of the hosts: comments, the rules within the first 500 KiB, more comments."""

    name = "robots_huge"
    default_share = 0.01

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        if not self.meets_host(host):
            return None
        rules = "\n".join(["User-agent: *", *lines, "Allow: /", ""]).encode()
        before, after = (_COMMENT * (size // len(_COMMENT)) for size in (_BEFORE_BYTES, _AFTER_BYTES))
        return Answer(200, body=before + rules + after, content_type=PLAIN)
