"""`scrapy politeness`: its output, its exit status, the logs it reads."""

import argparse
import json

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter

from crawlerproj.commands.politeness import Command

NGINX = (
    '{origin} 203.0.113.9 {connection} {age:.3f} {end:.3f} {took:.3f} "GET {path} HTTP/1.1" {status} '
    '"{retry}" "demo-bot/1.0 (+https://bot.example)"'
)
APACHE = (
    'apache {host} 203.0.113.9 {port} {earlier} {begin:.0f} {finish:.0f} "GET {path} HTTP/1.1" {status} '
    '"{retry}" "demo-bot/1.0"'
)


@pytest.fixture
def run(tmp_path, capsys):
    def run(lines, *options):
        (tmp_path / "access.log").write_text("\n".join(lines) + "\n")
        command = Command()
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        command.settings = {"LOG_LEVEL": "DEBUG"}
        command.add_options(parser)
        command.run([str(tmp_path / "access.log")], parser.parse_args(list(options)))
        return command.exitcode, capsys.readouterr()

    return run


def nginx_lines(times, first=7):
    lines = []
    for number, (start, took) in enumerate(times):
        path = "/robots.txt" if number == 0 else f"/{number}"
        lines.append(
            NGINX.format(
                origin="https://www.site.example:8443", connection=first + number, age=took + 0.001,
                end=start + took, took=took, path=path, status=200, retry="-",
            )
        )  # fmt: skip
    return lines


def apache_lines(times, retry="-"):
    return [
        APACHE.format(
            host="www.site.example", port=40000, earlier=number, begin=start * 1e6,
            finish=(start + took) * 1e6,
            path="/robots.txt" if number == 0 else f"/{number}", status=200, retry=retry,
        )
        for number, (start, took) in enumerate(times)
    ]  # fmt: skip


POLITE = [(1000.0, 0.1), (1002.5, 1.0), (1014.0, 0.01), (1017.0, 0.5)]
HASTY = [(1000.0, 0.1), (1002.5, 1.0), (1010.0, 0.01)]


def test_a_clean_log_exits_0_and_shows_the_distribution(run, clean_log):
    status, output = run(clean_log().text())
    assert status == 0
    assert "60 visits to 5 groups, 55 gaps" in output.out
    assert "violations: 0" in output.out


def test_violations_exit_1_with_both_lines(run, clean_log):
    log = clean_log()
    status, output = run(log.text(), "--minimum=400")
    assert status == 1
    found = [line for line in output.out.splitlines() if line.startswith("  line ")]
    assert json.loads(found[0].partition(": ")[2])["host"] == json.loads(found[1].partition(": ")[2])["host"]


def test_json_has_everything(run, clean_log):
    status, output = run(clean_log().text(), "--json", "--factor=20", "--maximum=1000")
    verdict = json.loads(output.out)
    assert status == 1
    assert verdict["by_kind"] == {"gap": len(verdict["violations"])}
    assert verdict["worst_ratio"] < 1
    assert verdict["violations"][0]["line"] != verdict["violations"][0]["previous_line"]
    assert sum(verdict["distribution"].values()) == verdict["gaps"] == 55


@pytest.mark.parametrize("write", [nginx_lines, apache_lines])
def test_logs_of_other_servers_are_judged(run, write):
    assert run(write(POLITE))[0] == 0
    status, output = run(write(HASTY), "--json")
    assert status == 1
    assert json.loads(output.out)["by_kind"] == {"gap": 1}


def test_a_restarted_server_counts_its_connections_anew(run):
    lines = nginx_lines(POLITE) + nginx_lines([(2000.0, 0.1), (2003.0, 0.1)])
    status, output = run(lines, "--json")
    assert (status, json.loads(output.out)["violations"]) == (0, [])


def test_retry_after_of_an_apache_log_binds(run):
    assert run(apache_lines([(1000.0, 0.1), (1009.0, 0.1)], retry="10"))[0] == 1
    assert run(apache_lines([(1000.0, 0.1), (1010.5, 0.1)], retry="10"))[0] == 0


def test_two_connections_in_an_nginx_log_are_found(run):
    status, output = run(nginx_lines([(1000.0, 0.1), (1003.0, 60.0), (1010.0, 0.1)]), "--json")
    assert status == 1
    assert set(json.loads(output.out)["by_kind"]) == {"gap", "two_connections"}


def test_a_robots_txt_by_hand_gives_rules_and_crawl_delay(run, tmp_path):
    robots = tmp_path / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /1\nCrawl-delay: 20\n")
    status, output = run(nginx_lines(POLITE), f"--robots={robots}", "--json")
    assert status == 1
    assert json.loads(output.out)["by_kind"] == {"forbidden": 1, "gap": 3}


def test_only_the_lines_of_one_agent_are_judged(run):
    other = nginx_lines([(1000.0, 5), (1001.0, 5)], first=90)
    lines = nginx_lines(POLITE) + [line.replace("demo-bot", "other") for line in other]
    assert run(lines)[0] == 1
    assert run(lines, "--agent=demo-bot")[0] == 0
    status, output = run(lines, "--agent=absent")
    assert status == 1
    assert "demo-bot/1.0" in output.err


@pytest.mark.parametrize("line", ["nonsense", '{"host": 1}', '1.2.3.4 - - [date] "GET / HTTP/1.1" 200 1'])
def test_an_unreadable_log_is_told_with_a_remedy(run, line):
    status, output = run([line])
    assert status == 1
    assert "docs/demoweb.md" in output.err


def test_a_missing_log_is_told(capsys):
    command = Command()
    command.run(["/no/such/log"], argparse.Namespace())
    assert command.exitcode == 1
    assert "/no/such/log" in capsys.readouterr().err
    command.run([], argparse.Namespace())
    assert "give one log file" in capsys.readouterr().err


# Written by nginx 1.22 and Apache 2.4 in the documented formats.
REAL_NGINX = r"""
http://localhost:18081 127.0.0.1 1 0.000 1795002830.055 0.000 "GET /robots.txt HTTP/1.1" 200 "-" "bot \x22x\x22/1"
http://localhost:18081 127.0.0.1 1 0.001 1795002830.055 0.000 "GET /index.html HTTP/1.1" 200 "-" "bot \x22x\x22/1"
http://localhost:18081 127.0.0.1 1 0.001 1795002830.055 0.000 "GET /busy HTTP/1.1" 503 "5" "bot \x22x\x22/1"
http://localhost:18081 127.0.0.1 2 0.000 1795002830.581 0.000 "GET / HTTP/1.1" 200 "-" "curl/7.88.1"
"""  # noqa: E501
REAL_APACHE = r"""
apache localhost:18082 127.0.0.1 40856 0 1795002830607523 1795002830607810 "GET /robots.txt HTTP/1.1" 200 "-" "b \"x\""
apache localhost:18082 127.0.0.1 40856 1 1795002830610871 1795002830610997 "GET /index.html HTTP/1.1" 200 "-" "b \"x\""
apache localhost:18082 127.0.0.1 40856 2 1795002830611730 1795002830611842 "GET /busy HTTP/1.1" 404 "-" "b \"x\""
apache localhost:18082 127.0.0.1 40864 0 1795002831139828 1795002831139904 "GET / HTTP/1.1" 404 "-" "curl/7.88.1"
"""  # noqa: E501


@pytest.mark.parametrize(("text", "short_gaps"), [(REAL_NGINX, 3), (REAL_APACHE, 2)])
def test_lines_that_real_servers_wrote_are_judged(run, text, short_gaps):
    status, output = run(text.splitlines(), "--minimum=0.2", "--json")
    verdict = json.loads(output.out)
    assert (status, verdict["by_kind"], verdict["visits"], verdict["groups"]) == (
        1,
        {"gap": short_gaps},
        4,
        1,
    )


@pytest.mark.parametrize("columns", ["60", "80", "100", "120", "200"])
def test_the_help_is_readable_in_terminals_of_any_width(columns, monkeypatch):
    """Scrapy makes a heading of any line that ends with a colon, also of one that was wrapped there."""
    monkeypatch.setenv("COLUMNS", columns)
    command = Command()
    command.settings = {"LOG_LEVEL": "DEBUG"}
    parser = ScrapyArgumentParser(formatter_class=ScrapyHelpFormatter, conflict_handler="resolve")
    command.add_options(parser)
    text = parser.format_help()
    assert text.count("===\n") == 2  # Usage and Options
    assert "(default 0.005)" in " ".join(text.split())
