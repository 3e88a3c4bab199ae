"""Pages whose first attempts break: cut short, then reset; the third succeeds."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.layout import mix
from crawlerproj.demoweb.nuisance import Nuisance

_PART = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n"
    b"<!DOCTYPE html><title>Part</title><p>This is only the"
)
# Before a byte was sent, in the middle of the body, closed early without a reset.
_BREAKS = (Wire(then="reset"), Wire(_PART, "reset"), Wire(_PART), Wire())


class Resets(Nuisance):
    """Meets a share of the pages, root pages never; one in four of them breaks twice."""

    name = "resets"
    default_share = 0.02

    def refusal(self, host: int, page: int, attempt: int) -> Answer | None:
        if attempt > 2 or not self.meets_page(host, page):
            return None
        code = mix(self.layout.seed, self.salt + 1, host, page)
        if attempt == 2 and code & 3:
            return None
        wire = _BREAKS[(code >> 2 * attempt) % len(_BREAKS)]
        return Answer(200 if wire.data else 0, wire=wire)
