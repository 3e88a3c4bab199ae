"""Every knob, along the path of a URL, each with its unit, default and reason.

Scrapy's own settings stand where they belong on the path. Any of them can be given on the command
line: `scrapy crawl web -s DELAY_MINIMUM=5`.
"""

from crawlerproj import __version__

BOT_NAME = "crawlerproj"
SPIDER_MODULES = ["crawlerproj.spiders"]
NEWSPIDER_MODULE = "crawlerproj.spiders"
COMMANDS_MODULE = "crawlerproj.commands"

# --- Where it is kept ---------------------------------------------------------------------------

CRAWL_DIR = ""  # directory of state and results; empty: crawls/<spider name>
CRAWL_NAME = ""  # the crawl's name in a shared engine; empty: the spider's name
STORAGE = ""  # empty: embedded, one process; redis://, rediss://, unix://: shared; redis: as REDIS_URL says
PARTITIONS = 64  # of a shared crawl, fixed when it begins: the most workers it can use
LEASE_SECONDS = 10  # a worker that is silent for so long loses its hosts; well above what Redis may lose
LEASE_MARGIN = 1  # seconds before the end of a lease after which nothing is sent: clocks drift, pauses happen
TABLE_SLICES = 4  # parts of the tables of a shared crawl, which a Redis Cluster may place apart
REDIS_TIMEOUT = 5  # seconds to wait for an answer of Redis before it counts as away
PARTITION_FUNCTION = ""  # empty: by hash; a file of lines suffix<TAB>region: crawls near their hosts
WORKER_REGION = ""  # with the former: the region whose hosts this worker fetches; empty: any
DISK_FREE_MINIMUM = 200_000_000  # bytes; with less free space the crawl stops cleanly and can be resumed

# --- urls: spelling and filters -----------------------------------------------------------------

URL_STRIP_PARAMETERS = None  # list of globs of query parameters to remove; None: tracking and sessions
URL_SORT_QUERY = False  # parameters in order: fewer duplicates, but some servers care for the order
URL_MAX_LENGTH = 2_000  # characters; longer ones are nearly always traps
URL_TRAPS = True  # refuse paths that repeat themselves
DEPTH_LIMIT = 0  # links away from a seed; 0: none
SKIPPED_EXTENSIONS = None  # list of file name extensions not to fetch; None: media, archives, programs
CONTENT_TYPES: list[str] = []  # list of types to keep, such as text/*; empty: all
BLACKLIST = ""  # file of hosts, .suffixes and URL prefixes never to fetch
BLACKLIST_ADVERTISEMENTS = True  # the list of advertisement hosts that ships with the package

# --- frontier: which URL next, and when ---------------------------------------------------------

SCHEDULER = "crawlerproj.frontier.scheduler.FrontierScheduler"
DOWNLOADER = "crawlerproj.frontier.downloader.FrontierDownloader"

FRONT_QUEUES = 8  # F; queue F is the most urgent
FRONT_QUEUE_BIAS = 2.0  # a queue is chosen this many times as often as the next lower one
FRONTIER_SEED = 0  # seed of the frontier's choices; 0: another one each time
BACK_QUEUES_MIN = 0  # back queues, the floor; 0: 3 x CONCURRENT_REQUESTS (Mercator's rule)
BACK_QUEUES_MAX = 20_000  # back queues; bounds memory to some 50 MB
BACK_QUEUE_QUANTUM = 50  # fetches after which a host gives way to waiting ones
HOST_WEIGHTS = ""  # file of lines host<TAB>queues up or down, e.g. from traffic figures
PRIORITY_RULES: list[str] = []  # list of callables (candidate, host) -> queues up or down
HOST_PAGE_BUDGET = 100_000  # pages of a host; then it is parked, its URLs stay queued. 0: none
DOMAIN_PAGE_BUDGET = 0  # pages of a registered domain; 0: none
MAX_ATTEMPTS = 3  # fetches of one URL, crashes included; then it is done with its error, or parked
IDLE_HORIZON = 300  # seconds; a crawl ends when no host is due sooner than this
COMMIT_INTERVAL = 0.1  # seconds; a crash repeats at most what was fetched in this time
COMMIT_PAGES = 64  # pages in a commit group; the next waits while one is being written
COMMIT_SYNC = True  # False: a power cut (not kill -9) may cost the last seconds

# --- fetch: may we, where is it, how fast -------------------------------------------------------

CRAWLER_CONTACT = ""  # URL or mail address in the user agent, for whoever reads the server's log
USER_AGENT = ""  # empty: crawlerproj/<version> (+<contact>)
ROBOTS_USER_AGENT = "crawlerproj"  # the name robots.txt files call us by
ROBOTS_CACHE_SIZE = 10_000  # hosts in memory, 18 kB each on average; all are kept on disk
ROBOTS_MAX_AGE = 86_400  # seconds; RFC 9309 says a day at most
ROBOTS_MAX_REDIRECTS = 5  # RFC 9309 says at least five
ROBOTSTXT_OBEY = False  # Scrapy's own would fetch robots.txt past the frontier; ours always obeys

DELAY_FACTOR = 10  # times the last fetch time
DELAY_MINIMUM = 2  # seconds between the end of a fetch and the next one from the same host
DELAY_MAXIMUM = 300  # seconds; bounds the factor's term only
CRAWL_DELAY_MAXIMUM = 300  # seconds; a host that asks for more is parked for that long, not shortened
POLITENESS_GROUP = "host"  # shares one clock and connection: host, domain, ip (one worker), a file of groups
BACKOFF_BASE = 30  # seconds after the first failure of a host, doubled with each further one
BACKOFF_MAXIMUM = 3_600  # seconds; a host that is back again is found within the hour
HOST_FAILURES_MAXIMUM = 720  # failures in a row (a month at the longest back-off): then its URLs are given up

DNS_SERVERS: list[str] = []  # address[:port]; empty: the system's. /etc/hosts comes before either
DNS_ATTEMPTS = 5  # questions for one name, Mercator's schedule: waits grow from the first to the last
DNS_FIRST_WAIT = 1  # seconds; most names answer within it
DNS_LAST_WAIT = 90  # seconds; some take so long, and nobody else waits for them
DNS_MIN_TTL = 60  # seconds; shorter ones would have us ask all the time
DNS_MAX_TTL = 86_400  # seconds; a host that moves is found again within a day
DNS_NEGATIVE_TTL = 30  # seconds a failure is remembered; short, since it is often mended soon
DNS_STALE_SECONDS = 3_600  # an older answer serves while it is asked for again
DNS_CACHE_SIZE = 100_000  # hosts in memory; all are kept on disk
DNS_CONCURRENCY = 1_000  # names being looked up ahead of their fetch, which take no fetch's place
FETCH_PRIVATE_ADDRESSES = False  # True lets a web page send the crawler into your own network
DOWNLOAD_HANDLERS = {
    "http": "crawlerproj.fetch.curl_handler.CurlDownloadHandler",
    "https": "crawlerproj.fetch.curl_handler.CurlDownloadHandler",
}
# Scrapy's has file, ftp and s3: a spider that follows a link as it stands would read this machine's files.
DOWNLOAD_HANDLERS_BASE = {
    **DOWNLOAD_HANDLERS,
    "data": "scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler",
}
FETCH_CONNECT_TIMEOUT = 10  # seconds for TCP and TLS; a server that takes longer is down or overloaded
FETCH_FIRST_BYTE_TIMEOUT = 30  # seconds from the start; some pages are computed for long, few for longer
FETCH_SLOW_AFTER = 3  # seconds; a slower transfer gives its place away (at most 4 x CONCURRENT_REQUESTS)
FETCH_LOW_SPEED_BYTES = 64  # bytes a second; a modem is faster: who drips means ill, or is broken
FETCH_LOW_SPEED_SECONDS = 30  # a transfer below that speed for so long is given up
HEADERS_MAXSIZE = 65_536  # bytes of a response's header section; far above what pages have
HEADERS_MAXCOUNT = 500  # lines of it; each costs objects beyond its bytes
FETCH_KEEPALIVE = True  # a host's next page comes on the same connection: no new handshakes
FETCH_HTTP2 = True  # where a TLS server offers it; one request at a time all the same
FETCH_IDLE_SECONDS = 15  # an idle connection is not used again after this: servers close it about then
FETCH_MAX_IDLE_CONNECTIONS = 256  # of each scheme; each holds a descriptor here and a place at the server
FETCH_MAX_IDLE_HANDLES = 256  # libcurl handles kept for the next fetch; making one costs as much as using it
FETCH_CA_FILE = ""  # certificate authorities, a PEM file; empty: the system's
DOWNLOAD_VERIFY_CERTIFICATES = False  # as Scrapy: a crawl reads public pages, and certificates lapse
CONCURRENT_REQUESTS = 128  # fetches at once, each from another host
DOWNLOAD_DELAY = 0  # the frontier decides; Scrapy's own slots are not used
DOWNLOAD_TIMEOUT = 60  # seconds for a whole fetch, whatever comes meanwhile
DOWNLOAD_MAXSIZE = 10_000_000  # bytes as sent, beyond which a body is cut and marked; unpacked: ignored
DOWNLOAD_WARNSIZE = 0  # no warning: what is too long is cut
DOWNLOAD_FAIL_ON_DATALOSS = False  # a cut body is a document too, marked as truncated
RETRY_HTTP_CODES = [500, 502, 503, 504, 522, 524, 408, 429]
REDIRECT_MAX_TIMES = 10  # hops; each is a fetch of its own host, in its turn
COOKIES_ENABLED = False  # a crawler is a stranger to every site

DOWNLOADER_MIDDLEWARES = {
    # Taken out: what the frontier, the handler or the parser does already, at a price for each page.
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": None,
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
}
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en,*;q=0.5",
}

# --- parse and documents ------------------------------------------------------------------------

CONTENT_SEEN = "minhash"  # minhash: exact and near duplicates; exact; off (no text is read then)
NEAR_DUPLICATE_THRESHOLD = 0.9  # estimated share of common 4-word shingles
CONTENT_SEEN_FOLLOW = "demote"  # links of duplicates go to the lowest queue; never: the textbook's rule
SOFT_404_PROBE = True  # a host is asked once for a page that cannot exist; pages like the answer are flagged
SOFT_404_AFTER = 10  # pages of a host before it is asked; small hosts are left in peace

CONVERT_SECONDS = 20  # for one document; with the next two, a hostile file costs one document at most
CONVERT_MEMORY = 512_000_000  # bytes of the process that converts
CONVERT_MAX_TEXT = 2_000_000  # characters
CONVERT_WORKERS = 1  # processes
CONVERT_MODULES: list[str] = []  # modules that register further formats

ITEM_PIPELINES = {
    "crawlerproj.documents.pipelines.ConvertPipeline": 50,
    "crawlerproj.documents.pipelines.ContentSeenPipeline": 100,
    "crawlerproj.graph.pipeline.LinkGraphPipeline": 200,
    "crawlerproj.documents.pipelines.DocumentStorePipeline": 300,
    "crawlerproj.documents.pipelines.FollowLinksPipeline": 400,
}
ITEM_PROCESSOR = "crawlerproj.documents.pipelines.PagePipelines"  # Scrapy's, cheaper for a Page
CONCURRENT_ITEMS = 1  # one Page a response; Scrapy starts this many tasks for each response
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 100_000_000  # bytes of responses being processed
ARCHIVE_REQUESTS = True  # a request record beside each response
ARCHIVE_METADATA = True  # a metadata record: timing, encoding, language, title, duplicate_of
ARCHIVE_REVISITS = False  # True: a page whose bytes are stored already is a short revisit record of the first
WARC_MAX_BYTES = 1_000_000_000  # bytes; a WARC file grows to this, then the next begins
WARC_GZIP_LEVEL = 3  # 1..9; 6 costs twice the CPU for 4 % less disk
GRAPH_BUILD_MEMORY = 1_073_741_824  # bytes the process of `scrapy graph build` may use, from 512 MiB on

# --- the engine ---------------------------------------------------------------------------------

TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
STATS_CLASS = "crawlerproj.stats.CrawlStats"  # Scrapy's, without a look at each name asked for
GC_THRESHOLD = 50_000  # new objects between two looks for rings of garbage; 0: as Python does, at more CPU
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False  # it executes what is posted to it
EXTENSIONS = {"crawlerproj.progress.ProgressLine": 0, "crawlerproj.stats_log.StatsLog": 0}
STATS_INTERVAL = 10.0  # seconds between two lines of CRAWL_DIR/stats.jsonl; 0: none
STATS_MAX_BYTES = 64_000_000  # bytes, about a month of lines; then it becomes stats.jsonl.1
PROGRESS = False  # a live line on standard error
LOG_LEVEL = "INFO"
LOG_FORMATTER = "crawlerproj.log.QuietLog"
LOGSTATS_INTERVAL = 60.0  # seconds
SOFTWARE = f"crawlerproj/{__version__}"
