"""The demo web as a process: its command line, its ports, its end."""

import argparse
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from crawlerproj.commands.demoweb import Command
from crawlerproj.demoweb.options import choose_ports, main
from crawlerproj.demoweb.process import DemoWebFailed, start_demoweb
from crawlerproj.demoweb.truth import truth
from crawlerproj.demoweb.world import World

PARENT = """
from crawlerproj.demoweb.process import start_demoweb
web = start_demoweb(hosts=2, pages=4)
print(web.process.pid, web.http_port, flush=True)
input()
"""


def test_default_ports_follow_the_seed():
    assert choose_ports(1, None, None) == (20001, 40001)
    assert choose_ports(20003, None, None) == (20003 - 20000 + 20000, 40003)
    assert choose_ports(1, 0, None) == (0, 0)


def test_it_ends_with_status_0_when_told_to():
    assert start_demoweb(hosts=2, pages=4).stop() == 0


def test_a_taken_http_port_is_told_with_its_remedy():
    with start_demoweb(hosts=2, pages=4) as web, pytest.raises(DemoWebFailed, match="--port"):
        start_demoweb(hosts=2, pages=4, port=web.http_port)


def test_a_taken_dns_port_is_told_with_its_remedy():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(DemoWebFailed, match="--dns-port"):
            start_demoweb(hosts=2, pages=4, dns_port=taken.getsockname()[1])


def test_it_dies_with_its_parent_and_can_start_again_at_once():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    child, port = map(int, parent.stdout.readline().split())
    watch = os.pidfd_open(child)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    ended, _, _ = select.select([watch], [], [], 20)
    os.close(watch)
    assert ended
    start_demoweb(hosts=2, pages=4, port=port).stop()


def test_seeds_and_truth_are_printed(capsys):
    options = ["--seed=4", "--hosts=12", "--pages=60"]
    world = World(4, 12, 60, "mild", 20004)
    assert main([*options, "--seeds"]) == 0
    assert capsys.readouterr().out.split() == world.seeds()
    assert main([*options, "--truth"]) == 0
    assert capsys.readouterr().out.split() == list(truth(world).must)
    assert main([*options, "--truth=json"]) == 0
    assert json.loads(capsys.readouterr().out) == truth(world).as_json()


@pytest.mark.parametrize(
    "options", [["--pages=1"], ["--hosts=0"], ["--nuisance=moths"], ["--port=70000"], ["--truth", "--port=0"]]
)
def test_a_wrong_option_is_told_with_a_remedy(capsys, options):
    assert main(options) == 1
    assert "give" in capsys.readouterr().err


def test_the_scrapy_command_has_the_same_options(capsys):
    command = Command()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.settings = {"LOG_LEVEL": "DEBUG"}
    command.add_options(parser)
    command.run([], parser.parse_args(["--hosts=3", "--pages=9", "--seeds"]))
    assert command.exitcode == 0
    assert capsys.readouterr().out.split() == World(1, 3, 9, port=20001).seeds()
