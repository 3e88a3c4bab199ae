"""Hosts whose robots.txt begins with a byte order mark, or has other line ends and odd spelling."""

from crawlerproj.demoweb.answers import PLAIN, Answer
from crawlerproj.demoweb.nuisance import Nuisance

_BOM = b"\xef\xbb\xbf"


class RobotsBom(Nuisance):
    """Meets a share of the hosts: their rules are the same as if written well."""

    name = "robots_bom"
    default_share = 0.1

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        if not lines or not self.meets_host(host):
            return None
        style = int(self.layout.chance(self.salt + 1, host) * 3)
        text = "\n".join(["User-agent: *", *lines, ""])
        if style == 0:
            body = _BOM + text.encode()
        elif style == 1:
            body = text.replace("\n", "\r\n").encode()
        else:
            odd = ["uSER-aGENT \t:  *", *lines]
            body = ("# rules\n" + "   # a comment\n".join(odd) + "\nNonsense\n").encode()
        return Answer(200, body=body, content_type=PLAIN)
