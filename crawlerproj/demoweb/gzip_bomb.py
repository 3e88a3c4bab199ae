"""Small bodies that unpack to very large ones, packed once or twice."""

import struct
import zlib
from functools import cache

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

UNPACKED_BYTES = 256 << 20
_GZIP_WINDOW = 31
_GZIP_HEAD = b"\x1f\x8b\x08" + b"\x00" * 6 + b"\x03"
_LAST_BLOCK = b"\x03\x00"


class GzipBomb(OwnPages):
    """Meets a share of the pages: 256 MiB of spaces, as gzip or as gzip in gzip."""

    name = "gzip_bomb"
    default_share = 0.001

    def own_page(self, host: int, page: int, query: str) -> Answer:
        twice = self.code(host, page) & 1
        coding = "gzip, gzip" if twice else "gzip"
        return Answer(200, body=_packed(bool(twice)), headers=(("Content-Encoding", coding),))


@cache
def _packed(twice: bool) -> bytes:
    if twice:
        return zlib.compress(_packed(False), wbits=_GZIP_WINDOW)
    # A block that ends with a full flush stands for itself, so one can be packed and repeated: packing all
    # of it would stop the server for a second.
    block = b" " * (1 << 20)
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    count, check = UNPACKED_BYTES // len(block), 0
    for _ in range(count):
        check = zlib.crc32(block, check)
    return _GZIP_HEAD + packed * count + _LAST_BLOCK + struct.pack("<II", check, UNPACKED_BYTES & 0xFFFFFFFF)
