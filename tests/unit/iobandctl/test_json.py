# SPDX-License-Identifier: GPL-2.0-only
"""The JSON of each verb: the manual has its members, and the schema fits."""

import json
import re

import pytest
from fakekernel import Fake
from toolbuild import HERE, SOURCE, VERBS, Built, man_page, sh


def documented(label: str) -> str:
    """The manual's text on the JSON of a verb, with an option if the label has one."""
    section = man_page().split(".Sh JSON OUTPUT")[1].split("\n.Sh ")[0]
    items = re.findall(r"^\.It Cm (.*)\n((?:(?!\.It ).*\n)*)", section, re.MULTILINE)
    verb, _, option = label.partition(" ")
    for head, text in items:
        if verb in head.split() and option in head:
            return text
    raise AssertionError(f"nothing is said of {label}")


def members(value: object) -> list[tuple[str, object]]:
    """All members of objects, with their values."""
    if isinstance(value, list):
        return [member for part in value for member in members(part)]
    if isinstance(value, dict):
        return [*value.items(), *(member for part in value.values() for member in members(part))]
    return []


SCHEMA = json.loads((HERE.parents[2] / "Documentation/iobandctl.schema.json").read_text())


def strict(schema: object) -> object:
    """The schema of this version, without additional members."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "required" in schema else {}
    return {key: strict(value) for key, value in schema.items()} | more


def assert_valid(printed: str) -> None:
    """Assert that the output matches the JSON Schema."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(strict(SCHEMA)).validate(json.loads(printed))


def test_schema_is_one() -> None:
    """The schema is valid, and rejects wrong members and values."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    row = {"pool": "p", "device": None, "group": "/a", "id": "cgroup#5", "latency_us": 5}
    assert_valid(json.dumps({"latencies": [row]}))
    for wrong in (row | {"latency_us": "5ms"}, row | {"id": None}, row | {"more": 5}):
        with pytest.raises(jsonschema.ValidationError):
            assert_valid(json.dumps({"latencies": [wrong]}))
    with pytest.raises(jsonschema.ValidationError):
        assert_valid(json.dumps({"latency": [row]}))


# Members with a fixed set of words, and the arrays of these words in the sources.
ENUMERATED = {"verdict", "action", "type", "op", "state"}
WORDS = {"check": ("verbs/check", "verdicts"), "apply": ("config/plan-print", "actions")}
WORDS["explain"] = ("verbs/explain", "verdicts")
# Verbs that need a kernel; except for table, they print the same as list.
IN_GUESTS = {"wrap", "insert", "extract", "create", "resize", "table"}


def test_json_is_documented(built: Built, host: Fake) -> None:
    """The manual has each member and word of a verb's output in the section of the verb."""
    recording, conf = host.root / "recording", host.root / "conf"
    commands: dict[str, list[str]] = {
        "groups": [],
        "groups --weights": ["--weights"],
        "stat": ["--interval", "0.1", "--count", "1"],
        "top": ["--batch", "--interval", "0.1", "--count", "1"],
        "explain": ["a", "--interval", "0.1"],
        "apply": ["--dry-run", "--config", str(conf)],
        "plot": [str(recording)],
        "get": ["a"],
        "get --pool": ["--pool", "sda"],
        "set": ["a", "weight=7"],
        "set --pool": ["--pool", "sda", "depth=7"],
        "set-weight": ["a", "7"],
        "set --from": ["--from", str(host.root / "weights")],
        "set-weight --from": ["--from", str(host.root / "weights")],
        "set-latency": ["a", "7ms"],
        **{f"set-{what}": ["a", "rbps=7"] for what in ("max", "min")},
        **{f"get-{what}": ["a"] for what in ("weight", "max", "min", "latency")},
        **{verb: ["one"] for verb in ("remove", "unwrap")},
        **{verb: [] for verb in ("list", "status", "check")},
    }
    for answers in ("stats", "stats.then"):
        host.answer("one", answers, (host.root / "answers/own@stats").read_text())
    host.run("record", "--duration", "0.1", "--output", str(recording))
    conf.write_text("[group /a]\nweight = 7\n")
    (host.root / "weights").write_text(host.run("groups", "--weights"))
    names = set()
    for label, words in commands.items():
        text = documented(label)
        # check reports that the devices below these do not exist.
        host.run(label.split()[0], *words, "--json", rc=int(label == "check"))
        assert_valid(host.printed)
        (rows,) = json.loads(host.printed).items()
        assert f".Dq {rows[0]}" in text, label
        for key, value in members(rows[1]):
            assert re.search(rf"^\.Cm (?:.*[ ])?{key}(?: |$)", text, re.MULTILINE), (label, key)
            if key in ENUMERATED and value is not None:
                assert f".Dq {value}" in text, (label, key, value)
        names.add(rows[0])
    assert names | {"tables"} == set(SCHEMA["properties"])
    tried = {label.split()[0] for label in commands} | IN_GUESTS
    assert tried == {verb for verb in VERBS if "--json" in sh(built.iobandctl, "help", verb).stdout}
    for verb in IN_GUESTS:
        assert documented(verb)


@pytest.mark.parametrize("verb", WORDS)
def test_words_in_json_are_documented(verb: str) -> None:
    """Including words that no test produces."""
    file, array = WORDS[verb]
    source = (SOURCE / f"{file}.c").read_text()
    (listed,) = re.findall(rf"const {array}\[\] = \{{\n((?:\t.*\n)*)\}};", source)
    words = re.findall(r'= "(.*)",', listed)
    assert len(words) > 2
    for word in words:
        assert f".Dq {word}" in documented(verb), word
