"""A client that bears with everything: pycurl, names by DNS packets, retries, short timeouts."""

import io
import re
import zlib
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import pycurl
from protego import Protego

LINK = re.compile(rb"""<a [^>]*?href=["']([^"'>]*)["']""")
ATTEMPTS = 3
MOST_BYTES = 3_000_000


@dataclass
class Got:
    """What came of a request; `error` is curl's number, 0 if there was none."""

    status: int
    body: bytes
    error: int
    headers: dict[str, str] = field(default_factory=dict)


class Curl:
    def __init__(self, web, ask) -> None:
        self.web, self.ask = web, ask
        self.addresses = {}
        self.curl = pycurl.Curl()

    def address(self, name):
        """The first address, asking up to three times."""
        if name not in self.addresses:
            self.addresses[name] = None
            for _ in range(ATTEMPTS):
                try:
                    code, found = self.ask(self.web.dns_server, name, timeout=0.9)
                except TimeoutError:
                    continue
                self.addresses[name] = found[0] if code == 0 and found else None
                break
        return self.addresses[name]

    def get(self, url, *headers, verify=None, timeout=0.4):
        parts = urlsplit(url)
        address = self.address(parts.hostname)
        if address is None:
            return Got(0, b"", pycurl.E_COULDNT_RESOLVE_HOST)
        curl, body, head = self.curl, io.BytesIO(), []
        curl.reset()
        curl.setopt(curl.URL, url)
        curl.setopt(curl.RESOLVE, [f"{parts.hostname}:{self.web.http_port}:{address}"])
        # On a connection that it uses again, libcurl repeats a request that got no byte on its own account.
        curl.setopt(curl.FRESH_CONNECT, 1)
        curl.setopt(curl.HTTPHEADER, list(headers))
        curl.setopt(curl.TIMEOUT_MS, int(timeout * 1000))
        curl.setopt(curl.SSL_VERIFYPEER, verify is not None)
        curl.setopt(curl.SSL_VERIFYHOST, 2 if verify else 0)
        if verify:
            curl.setopt(curl.CAINFO, str(verify))
        curl.setopt(curl.HEADERFUNCTION, head.append)

        def write(data):
            return -1 if body.tell() > MOST_BYTES else body.write(data)

        curl.setopt(curl.WRITEFUNCTION, write)
        error = 0
        try:
            curl.perform()
        except pycurl.error as failure:
            error = failure.args[0]
        fields = [line.decode("latin-1").partition(":") for line in head[1:] if b":" in line]
        named = {name.strip().lower(): value.strip() for name, _, value in fields}
        return Got(curl.getinfo(curl.RESPONSE_CODE), body.getvalue(), error, named)

    def text(self, got):
        if got.headers.get("content-encoding") == "gzip":
            return zlib.decompress(got.body, 31)
        return got.body


def crawl(client, truth):
    """Statuses of all URLs fetched by a crawl that obeys robots.txt, retries, and minds the caps of traps."""
    robots, statuses, queue = {}, {}, list(client.web.seeds)
    forbidden, bodies, counts = set(), {}, {}
    known = set(queue)

    def rules(origin, path="/robots.txt", hops=5):
        got = client.get(origin + path)
        if 300 <= got.status < 400 and hops:
            target = urljoin(origin + path, got.headers["location"])
            parts = urlsplit(target)
            return rules(f"{parts.scheme}://{parts.netloc}", parts.path, hops - 1)
        if got.error or got.status >= 500:
            return Protego.parse("User-agent: *\nDisallow: /")
        return Protego.parse(got.body.decode("utf-8-sig", "replace") if got.status == 200 else "")

    for url in queue:
        parts = urlsplit(url)
        family = next((f for f in truth.may if f.prefixes and f.holds(url)), None)
        if family is not None:
            counts[family] = counts.get(family, 0) + 1
            if counts[family] > min(family.cap, 6):
                continue
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in robots:
            robots[origin] = rules(origin)
        if not robots[origin].can_fetch(url, "demo"):
            forbidden.add(url)
            continue
        for _ in range(ATTEMPTS):
            got = client.get(url)
            if not got.error and got.status not in (429, 503):
                break
        statuses[url] = 0 if got.error else got.status
        # A redirect is no copy of another, whatever its body says.
        if got.error or (got.status == 200 and bodies.setdefault(got.body, parts.netloc) != parts.netloc):
            continue
        found = [got.headers["location"]] if "location" in got.headers else []
        if got.status == 200 and "html" in got.headers.get("content-type", "") and "/odd/" not in url:
            found += [link.decode("ascii", "replace") for link in LINK.findall(text_of(client, got))]
        for link in found:
            try:
                link = urljoin(url, link).partition("#")[0]
                ours = urlsplit(link).hostname in client.web.world.layout.numbers
            except ValueError:
                continue
            if ours and link not in known:
                known.add(link)
                queue.append(link)
    return statuses, forbidden


def text_of(client, got):
    body = client.text(got)
    return body.decode("utf-16").encode() if body[:2] in (b"\xff\xfe", b"\xfe\xff") else body
