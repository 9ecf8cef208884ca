# SPDX-License-Identifier: GPL-2.0-only
"""The output of metrics, the alert rules and the dashboard, read by Prometheus' own programs."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fakekernel import Fake
from harness.prometheus import promtool, running, soon
from prometheus_client.parser import text_string_to_metric_families
from toolbuild import sh

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
ALERTS = REPO / "monitoring/ioband-alerts.yml"
DASHBOARD = REPO / "monitoring/ioband-dashboard.json"
CASES = HERE / "alerts-test.yml"
NAME = r"\bioband_\w+"
# What Prometheus adds to each series.
ADDED = {"instance", "job"}


@pytest.fixture
def bounded(host: Fake) -> Fake:
    """The two pools, with a group that has each bound: metrics prints every family."""
    words = " max=5,8,6,7 min=4,3,3,2 latency=1500 write_latency=2500"
    text = (host.root / "answers/one@groups").read_text()
    text = text.replace("weight=300 set=1 path=/a\n", f"weight=300 set=1 path=/a{words}\n")
    for device in ("one", "own"):
        host.answer(device, "groups", text)
    return host


def families(text: str) -> dict[str, set[str]]:
    """The labels of each name that a sample has."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def dashboard_queries() -> dict[str, str]:
    """The expressions of all panels, by panel and letter."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for target in panel["targets"]
    }


def alert_queries() -> dict[str, str]:
    """The expressions of all alerts, by name."""
    rules = re.split(r"^ +- alert: (\w+)\n", ALERTS.read_text(), flags=re.MULTILINE)[1:]
    expression = r"expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)"
    found = {}
    for name, rule in zip(rules[::2], rules[1::2], strict=True):
        block, line = re.search(expression, rule).groups()
        found[name] = block or line
    return found


def labels_of(expression: str) -> set[str]:
    """The labels that an expression compares, or groups by."""
    found = set(re.findall(r"(\w+)=~?\"", expression))
    for words in re.findall(r"\b(?:by|without|on|ignoring) \(([^)]*)\)", expression):
        found |= set(re.findall(r"\w+", words))
    return found


def unknown_in(queries: dict[str, str], known: dict[str, set[str]]) -> list[str]:
    """Names and labels in expressions that metrics does not print."""
    labels = ADDED.union(*known.values())
    wrong = []
    for where, expression in queries.items():
        names = re.findall(NAME, expression)
        assert names, where
        wrong += [f"{where}: {name}" for name in names if name not in known]
        wrong += [f"{where}: {label}" for label in labels_of(expression) - labels]
        # A matcher selects nothing if the family does not have its label.
        for name, matchers in re.findall(rf"({NAME})\{{([^}}]*)\}}", expression):
            asked = set(re.findall(r"(\w+)=~?\"", matchers)) - ADDED
            wrong += [f"{where}: {name}{{{each}}}" for each in asked - known.get(name, asked)]
    return wrong


def test_the_linter_has_nothing_to_say(bounded: Fake) -> None:
    done = promtool("check", "metrics", stdin=bounded.run("metrics"))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_linter_speaks(bounded: Fake) -> None:
    """Of a counter without its suffix, or without a description."""
    text = bounded.run("metrics")
    for old, new, said in (
        ("ioband_group_ios_total", "ioband_group_ios", "_total"),
        ("# HELP ioband_group_bytes_total Bytes completed.\n", "", "no help text"),
    ):
        assert old in text
        done = promtool("check", "metrics", stdin=text.replace(old, new))
        assert done.returncode and said in done.stdout


def test_without_devices(fake: Fake) -> None:
    done = promtool("check", "metrics", stdin=fake.run("metrics"))
    assert (done.returncode, done.stdout) == (0, "")


def test_alert_rules_are_valid() -> None:
    done = promtool("check", "rules", ALERTS)
    assert not done.returncode, done.stdout
    assert "SUCCESS: 6 rules found" in done.stdout


def test_alerts_fire_when_they_are_to() -> None:
    """And not when they are not, for which the series of the cases are made."""
    done = promtool("test", "rules", CASES)
    assert not done.returncode, done.stdout
    tried = set(re.findall(r"alertname: (\w+)", CASES.read_text()))
    assert tried == set(alert_queries())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("< 0.9 * ioband_group_min_bytes_per_second", "< 0.1 * ioband_group_min_bytes_per_second"),
        ("< 0.9 * ioband_group_min_ios_per_second", "< 0.1 * ioband_group_min_ios_per_second"),
        ("and rate(ioband_group_wait_time_seconds_total[5m]) > 0.2", ""),
        ("> 1.1 * ioband_group_latency", "> 11 * ioband_group_latency"),
        ("> 1.1 * ioband_group_write", "> 11 * ioband_group_write"),
        ('time_seconds_total{op="write"}', 'time_seconds_total{op="read"}'),
        ("+ rate(ioband_group_service_time", "- rate(ioband_group_service_time"),
        ("suspended == 1", "suspended == 0"),
        ("and max_over_time(ioband_watch_running[1w]) == 1", ""),
        ("ioband_watch_running == 0 and ", ""),
        ("> 300", "> 30"),
        ("for: 10m", "for: 10h"),
    ],
)
def test_cases_of_alerts_find_a_wrong_rule(tmp_path: Path, old: str, new: str) -> None:
    assert old in ALERTS.read_text()
    (tmp_path / "rules.yml").write_text(ALERTS.read_text().replace(old, new))
    cases = re.sub(r"^ +- \S*ioband-alerts.yml", "  - rules.yml", CASES.read_text(), flags=re.M)
    (tmp_path / "cases.yml").write_text(cases)
    done = promtool("test", "rules", tmp_path / "cases.yml")
    assert done.returncode and "FAILED" in done.stdout


def test_names_and_labels_are_those_of_metrics(bounded: Fake) -> None:
    known = families(bounded.run("metrics"))
    assert unknown_in(dashboard_queries(), known) == []
    assert unknown_in(alert_queries(), known) == []
    variables = json.loads(DASHBOARD.read_text())["templating"]["list"]
    asked = [each["definition"] for each in variables if each["type"] == "query"]
    for definition in asked:
        name, label = re.fullmatch(r"label_values\((\w+)(?:{.*})?, (\w+)\)", definition).groups()
        assert label in known[name] | ADDED
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert shown <= ADDED.union(*known.values())


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("sum(ioband_group_reads_total)", "ioband_group_reads_total"),
        ("sum by (leaf) (ioband_group_weight)", "leaf"),
        ('ioband_group_weight{op="read"}', "ioband_group_weight{op}"),
    ],
)
def test_unknown_names_and_labels_are_found(bounded: Fake, expression: str, said: str) -> None:
    known = families(bounded.run("metrics"))
    assert unknown_in({"here": expression}, known) == [f"here: {said}"]


def as_grafana_asks(expression: str) -> str:
    """With all machines and pools chosen."""
    asked = re.sub(r"\$(?:instance|pool)\b", ".*", expression)
    return asked.replace("$__rate_interval", "1m")


def test_prometheus_answers_every_panel(bounded: Fake, tmp_path: Path) -> None:
    """The real one, which has scraped the output of metrics and loaded the rules."""
    expressions = {name: as_grafana_asks(text) for name, text in dashboard_queries().items()}
    assert not [text for text in expressions.values() if "$" in text]
    with running(tmp_path, bounded.run("metrics"), ALERTS) as prometheus:
        # A rate needs two scrapes.
        soon(lambda: bool(prometheus.query("rate(ioband_group_bytes_total[1m])")))
        silent = [name for name, text in expressions.items() if not prometheus.query(text)]
        assert silent == []
        assert prometheus.query("sum(ioband_group_weight{group='/a'})")[0]["value"][1] == "300"
        soon(lambda: {rule["health"] for rule in rules_of(prometheus)} == {"ok"})
        assert {rule["name"] for rule in rules_of(prometheus)} == set(alert_queries())


def rules_of(prometheus: Any) -> list[dict[str, Any]]:
    """The rules that a Prometheus has loaded."""
    return [rule for group in prometheus.get("api/v1/rules")["groups"] for rule in group["rules"]]


def test_the_units_are_confined(tmp_path: Path) -> None:
    """The service that writes the metrics, and as systemd reads it."""
    where = ["-C", REPO / "udev", f"DESTDIR={tmp_path}", "PREFIX=/usr", "TEXTFILEDIR=/srv/text"]
    sh("make", *where, "install", check=True)
    units = tmp_path / "usr/lib/systemd/system"
    service = (units / "iobandctl-metrics.service").read_text()
    assert "\nEnvironment=TEXTFILES=/srv/text\n" in service
    assert "\nReadWritePaths=-/srv/text\n" in service
    ask = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager"]
    done = subprocess.run(
        [*ask, units / "iobandctl-metrics.service"], capture_output=True, text=True
    )
    assert not done.returncode, done.stdout[-200:] + done.stderr
