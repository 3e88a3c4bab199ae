"""Formats whose functions misbehave, one in each way: for the tests of the converter."""

import os
import signal
import time

from crawlerproj.parse.formats import Converted, converts


@converts("x-test/endless")
def endless(body, content_type, limit):
    while True:
        time.sleep(0.01)


@converts("x-test/killed")
def killed(body, content_type, limit):
    os.kill(os.getpid(), signal.SIGSEGV)


@converts("x-test/greedy")
def greedy(body, content_type, limit):
    return Converted(str(len(bytearray(4 << 30))))


@converts("x-test/raising")
def raising(body, content_type, limit):
    raise RuntimeError(body)


@converts("x-test/process")
def process(body, content_type, limit):
    return Converted(str(os.getpid()))
