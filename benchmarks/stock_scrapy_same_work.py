"""Stock Scrapy doing the same work as our whole crawl, with the parts people usually take for it.

As benchmarks/stock_scrapy.py, and as pipelines: visible text (parsel), 4-word shingles and near-duplicates
(datasketch MinHash of 128 values with `update_batch`, MinHashLSH), WARC with response, request and
metadata records and digests (warcio), and a line for each link. Nothing of this project is imported.
Last line of output: {"pages": n, "cpu_seconds": ..., "records": {kind: n}, "near_duplicates": n}.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from collections import Counter
from pathlib import Path

import scrapy
import stock_scrapy
from datasketch import MinHash, MinHashLSH
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

VALUES = 128
WORDS = re.compile(r"\w+")


class SameWorkSpider(stock_scrapy.StockSpider):
    name = "same-work"

    def parse(self, response):
        self.pages += 1
        item = {"response": response, "text": "", "title": "", "links": []}
        if isinstance(response, HtmlResponse):
            item["title"] = response.xpath("//title/text()").get("")
            visible = response.xpath("//body//text()[not(parent::script|parent::style)]")
            item["text"] = " ".join(visible.getall())
            item["links"] = self.extractor.extract_links(response)
        yield item
        for link in item["links"]:
            yield scrapy.Request(link.url)


class NearDuplicatesPipeline:
    def __init__(self):
        self.lsh = MinHashLSH(threshold=0.9, num_perm=VALUES)
        # Shared permutations: making them anew for each page would cost stock Scrapy much more.
        self.model = MinHash(num_perm=VALUES)
        self.found = 0

    @classmethod
    def from_crawler(cls, crawler):
        crawler.near_duplicates = made = cls()
        return made

    def process_item(self, item):
        words = WORDS.findall(item["text"].lower())
        if len(words) >= 50:
            shingles = {" ".join(words[at : at + 4]).encode() for at in range(len(words) - 3)}
            made = self.model.copy()
            made.update_batch(list(shingles))
            near = self.lsh.query(made)
            self.found += bool(near)
            item["duplicate_of"] = near[0] if near else ""
            self.lsh.insert(item["response"].url, made, check_duplication=False)
        return item


class LinkLogPipeline:
    def __init__(self, directory):
        self.file = (Path(directory) / "links.tsv").open("w")

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["WORK_DIR"])

    def process_item(self, item):
        url = item["response"].url
        self.file.writelines(f"{url}\t{link.url}\t{' '.join(link.text.split())}\n" for link in item["links"])
        return item

    def close_spider(self):
        self.file.close()


class WarcPipeline:
    def __init__(self, directory):
        self.file = (Path(directory) / "crawl.warc.gz").open("wb")
        self.writer = WARCWriter(self.file, gzip=True, warc_version="1.1")
        self.records = Counter()

    @classmethod
    def from_crawler(cls, crawler):
        crawler.warc = made = cls(crawler.settings["WORK_DIR"])
        return made

    def process_item(self, item):
        response, make = item["response"], self.writer.create_warc_record
        address = {"WARC-IP-Address": str(response.ip_address)}
        answer = make(response.url, "response", payload=io.BytesIO(response.body), warc_headers_dict=address,
                      http_headers=StatusAndHeaders(f"{response.status} OK", _lines(response), "HTTP/1.1"))
        path = "/" + response.url.partition("://")[2].partition("/")[2]
        asked = make(response.url, "request", http_headers=StatusAndHeaders(
            f"GET {path} HTTP/1.1", _lines(response.request), is_http_request=True))
        fields = (f"fetchTimeMs: {response.meta['download_latency'] * 1000:.0f}\r\n"
                  f"title: {item['title']}\r\nencoding: {getattr(response, 'encoding', '')}\r\n"
                  f"duplicate_of: {item.get('duplicate_of', '')}\r\n")
        noted = make(response.url, "metadata", payload=io.BytesIO(fields.encode()),
                     warc_content_type="application/warc-fields")
        beside = answer.rec_headers.get_header("WARC-Record-ID")
        for record in (asked, noted):
            record.rec_headers.add_header("WARC-Concurrent-To", beside)
        for record in (answer, asked, noted):
            self.writer.write_record(record)
            self.records[record.rec_type] += 1
        return item

    def close_spider(self):
        self.file.close()


def _lines(message):
    return [(name.decode("latin-1"), value.decode("latin-1"))
            for name, values in message.headers.items() for value in values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=Path, required=True, help="one URL a line")
    parser.add_argument("--hosts-file", type=Path, help="lines of `address name`")
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--work", type=Path, required=True, help="directory for the results")
    options = parser.parse_args()
    stock_scrapy.read_hosts(options.hosts_file)
    settings = stock_scrapy.settings(options.pages) | {
        "WORK_DIR": str(options.work),
        "ITEM_PIPELINES": {NearDuplicatesPipeline: 100, LinkLogPipeline: 200, WarcPipeline: 300},
    }
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(SameWorkSpider)
    process.crawl(crawler, seeds=stock_scrapy.read_seeds(options.seeds),
                  extractor=stock_scrapy.LinkExtractor())
    meter = stock_scrapy.CpuMeter(crawler)
    process.start()
    print(json.dumps({
        "pages": crawler.spider.pages, **meter.figures(),
        "records": dict(crawler.warc.records), "near_duplicates": crawler.near_duplicates.found,
    }))


if __name__ == "__main__":
    main()
