"""What counts as an attempt."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


def test_a_connection_that_ended_once_is_not_held_against_the_page(tmp_path):
    """Three attempts: two answers of 503 and a whole page, beside the one request that may have been lost."""

    def moody(time: int) -> bytes:
        if time == 1:
            return b""  # hangs up on a connection that served the page before
        return html("busy", "503 Service Unavailable") if time < 4 else html("at last")

    async def run() -> None:
        async with serving({"/": html("<a href=/moody>it</a>"), "/moody": moody}) as site:
            crawler = make_crawler(WebSpider, tmp_path, MAX_ATTEMPTS=3)
            await crawler.crawl_async(seeds=site.origin + "/")
        assert site.asked.count("/moody") == 4
        assert crawler.stats.get_value("downloader/response_status_count/200") == 2

    return deferred_from_coro(run())


def test_time_that_ran_out_while_the_process_stood_still_is_not_held_against_the_page(tmp_path):
    """Stopped when the request has left, it goes on when its time is long over: the answer lay there."""
    stopped: list[int] = []

    def stop(time: int) -> bytes:
        if time == 1:
            process.send_signal(signal.SIGSTOP)
            stopped.append(process.pid)
            asyncio.get_running_loop().call_later(4.0, os.kill, process.pid, signal.SIGCONT)
        return html("the page")

    async def run() -> None:
        nonlocal process
        async with serving({"/": html("<a href=/page>it</a>"), "/page": stop}) as site:
            process = subprocess.Popen(
                [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={site.origin}/",
                 *(part for name, value in {
                     "CRAWL_DIR": tmp_path, "DELAY_MINIMUM": 0, "DELAY_FACTOR": 0, "DOWNLOAD_TIMEOUT": 2,
                     "MAX_ATTEMPTS": 1, "BACKOFF_BASE": 0.01, "FETCH_PRIVATE_ADDRESSES": True,
                 }.items() for part in ("-s", f"{name}={value}"))],
                cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, text=True,
            )
            try:
                _, log = await asyncio.get_running_loop().run_in_executor(
                    None, lambda: process.communicate(timeout=60))
            finally:
                process.kill()
        assert stopped
        assert site.asked.count("/page") == 2, log
        assert "'downloader/response_status_count/200': 2" in log

    process: subprocess.Popen[str]
    return deferred_from_coro(run())
