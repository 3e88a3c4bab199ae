"""A polite, crash-safe web crawler: Mercator's frontier at home in Scrapy.

The path of a URL, and the room where each step is decided:

    seeds -> urls -> frontier -> fetch -> parse -> documents -> graph -> archive -> urls (its links)

    urls        is it wanted, and how is it spelled?
    frontier    which URL next, and when?
    fetch       may we, where is it, how fast?
    parse       what does it say, where does it point?
    documents   have we this content, where do we keep it?
    graph       who points to whom?
    storage     what must outlive the process
    control     talking to a running crawl
    demoweb     a whole web on loopback, made from a seed number

Rooms are plain Python and do not import each other; `assembly` puts them together, and thin
adapters (scheduler, downloader, pipelines, spiders, commands) talk to Scrapy. `items` is what
travels between them, `settings` every knob in path order.
"""

__version__ = "0.1.0"
