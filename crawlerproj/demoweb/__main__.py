"""`python -m crawlerproj.demoweb`: the same as `scrapy demoweb`, without Scrapy."""

import sys

from crawlerproj.demoweb.options import main

if __name__ == "__main__":
    sys.exit(main())
