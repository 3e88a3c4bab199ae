"""Content types that lie: HTML as an image, an image as HTML, none, nonsense."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c489".replace(" ", "")
    + "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
_TYPES = ("image/png", "application/octet-stream", "text/plain", "", "text", "text/html;;charset=", "*/*")


class WrongType(OwnPages):
    """Meets a share of the pages."""

    name = "wrong_type"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        choice = self.code(host, page) % (len(_TYPES) + 1)
        if choice == len(_TYPES):
            return Answer(200, body=_PNG * 40)
        return Answer(200, f"Type {_TYPES[choice]}", content_type=_TYPES[choice])
