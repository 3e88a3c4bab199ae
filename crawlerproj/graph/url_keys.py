"""How URLs are ordered: by reversed host, then path, so that a domain, a host and a folder lie together.

    https://www.example.com:8080/a?b   com,example,www:8080)s/a?b
    http://[::1]/                      [::1])/
    anything else                      ~ and the text as it is

`)` ends the host, `s` after it means https. A host with `)`, `,` or `@` in it, or whose last label begins
with `~`, is no web address here. The key is turned back into exactly the URL it came from. Keys are compared
as bytes; the keys of one host are neighbours.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from crawlerproj.graph.jit import Bytes, int64, kernel, leading_zeros, load_word, uint64

_SLASH, _COLON, _DOT, _COMMA, _CLOSE, _OPEN, _S, _TILDE, _AT = b"/:.,)[s~@"


def key_of(url: str) -> bytes:
    slash = url.find("/", 8) + 1
    if not slash:
        return _key(url)
    # Few hosts make up most URLs: the reversed host is remembered. What is no web address is not cut.
    front = _front_key(url[:slash])
    if url.isascii():
        return front + url[slash:].encode()  # the common case, in half the time
    return front + url[slash:].encode("utf-8", "surrogatepass")


@lru_cache(1 << 16)
def _front_key(front: str) -> bytes:
    return _key(front)


def _key(url: str) -> bytes:
    data = url.encode("utf-8", "surrogatepass")
    into = np.empty(len(data) + 1, np.uint8)
    return into[: write_key(np.frombuffer(data, np.uint8), 0, len(data), into, 0)].tobytes()


def url_of(key: bytes) -> str:
    slash = key.find(b"/", key.find(b")") + 1)
    if key[:1] == b"~" or slash < 0:
        return _url(key)
    return _front_url(key[:slash]) + key[slash:].decode("utf-8", "surrogatepass")


@lru_cache(1 << 16)
def _front_url(front: bytes) -> str:
    return _url(front)


def _url(key: bytes) -> str:
    if key[:1] == b"~":
        return key[1:].decode("utf-8", "surrogatepass")
    name, _, rest = key.partition(b")")
    scheme = "http://"
    if rest[:1] == b"s":
        scheme, rest = "https://", rest[1:]
    return scheme + _host(name.decode()) + rest.decode("utf-8", "surrogatepass")


def host_of_key(key: bytes) -> str:
    """`host[:port]` of a key; empty for one that is no web address."""
    return "" if key[:1] == b"~" else _host(key.partition(b")")[0].decode())


def host_prefix(key: bytes) -> bytes:
    """What the keys of one host begin with."""
    return key[:1] if key[:1] == b"~" else key[: key.index(b")") + 1]


def _host(name: str) -> str:
    if name.startswith("["):
        return name
    labels, colon, port = name.partition(":")
    return ".".join(reversed(labels.split(","))) + colon + port


@kernel
def write_key(text: Bytes, start: int, end: int, into: Bytes, at: int) -> int:
    """Writes the key of the URL text[start:end] to into[at:], gives its end. At most one byte is added."""
    secure = end - start > 8 and text[start + 4] == _S
    first = start + (8 if secure else 7)
    slash = label = first
    port = -1
    sound = _is_web(text, start, end, secure)
    bracket = sound and first < end and text[first] == _OPEN
    while sound and slash < end and text[slash] != _SLASH:
        byte = text[slash]
        if byte in (_COMMA, _CLOSE, _AT) or (byte == _OPEN and slash > first):
            sound = False
        if byte == _COLON and not bracket and port < 0:
            port = slash
        slash += 1
        if byte == _DOT and port < 0:
            label = slash
    # `~` is allowed in a host, but a key that begins with it is a text as it is.
    sound = sound and text[label] != _TILDE
    if not sound or slash >= end or slash == first or port == first:
        into[at] = _TILDE
        at += 1
        for index in range(start, end):
            into[at] = text[index]
            at += 1
        return at
    stop = port if port >= 0 else slash
    if bracket:
        for index in range(first, stop):
            into[at] = text[index]
            at += 1
    else:
        label_end = stop
        for index in range(stop - 1, first - 2, -1):
            if index < first or text[index] == _DOT:
                for inner in range(index + 1, label_end):
                    into[at] = text[inner]
                    at += 1
                if index >= first:
                    into[at] = _COMMA
                    at += 1
                label_end = index
    for index in range(stop, slash):
        into[at] = text[index]
        at += 1
    into[at] = _CLOSE
    at += 1
    if secure:
        into[at] = _S
        at += 1
    for index in range(slash, end):
        into[at] = text[index]
        at += 1
    return at


@kernel
def _is_web(text: Bytes, start: int, end: int, secure: bool) -> bool:
    """Does it begin with http:// or https://?"""
    at = start + (5 if secure else 4)
    return (
        end - at > 3
        and text[start] == 104
        and text[start + 1] == 116
        and text[start + 2] == 116
        and text[start + 3] == 112
        and text[at] == _COLON
        and text[at + 1] == _SLASH
        and text[at + 2] == _SLASH
    )


@kernel
def find_byte(text: Bytes, start: int, byte: int) -> int:
    """Where a byte is next, or the end of the text: eight bytes at a time."""
    ones, tops = uint64(0x0101010101010101), uint64(0x8080808080808080)
    pattern = ones * uint64(byte)
    position = start
    while position + 8 <= len(text):
        word = load_word(text, position) ^ pattern
        zeros = (word - ones) & ~word & tops  # the lowest set bit marks the first byte that is equal
        if zeros:
            lowest = int64(zeros & (~zeros + uint64(1)))
            return position + ((63 - leading_zeros(lowest)) >> 3)
        position += 8
    while position < len(text) and text[position] != byte:
        position += 1
    return position
