# SPDX-License-Identifier: GPL-2.0-only
"""Scenario files: their meaning, and the messages about errors."""

from dataclasses import replace

import pytest
from lab.measure import METRIC_OPTIONS
from lab.runner import COEFFICIENTS, calibration, clip, cost_model, expand, experiment, only
from lab.scenario import Disk, Scenario, ScenarioError, load_all, order, parse
from lab.traces import Observation, merge
from test_lab_measure import steady

GOOD = """
title = "t"
[disk]
model = "$model"
[run]
seconds = 4
peers = ["none", "bfq", "ioband"]
on_lv = ["ioband"]
[quick]
seconds = 2
peers = ["ioband"]
variants = ["few"]
[variants]
few = { n = 2, model = "hdd" }
many = { n = 6, model = "cloud" }
[[group]]
name = "g{i}"
weight = "{i}0"
count = "$n"
[[group]]
name = "late"
[[job]]
group = "g{i}"
fio = { rw = ["read", "write"], offset = "{i}g", numjobs = "$n" }
[[job]]
name = "late-job"
group = "late"
active = [[1, 3]]
fio = { rw = "read" }
[[goal]]
name = "shares"
metric = "share_error_pct"
at_most = 2
expect = "met"
quick = true
[[goal]]
name = "alone"
metric = "bandwidth_mbps"
of = "late"
relative_to = "alone"
at_least = 0.5
expect = "missed"
missed = "It is too slow."
variants = ["many"]
"""


def scenario(text: str = GOOD) -> Scenario:
    return parse(text, "S1", METRIC_OPTIONS)


def test_variants_and_numbers() -> None:
    found = scenario()
    many = found.settings["many"]
    assert [group.name for group in many.groups] == [*(f"g{i}" for i in range(1, 7)), "late"]
    assert [group.weight for group in many.groups] == [10, 20, 30, 40, 50, 60, 100]
    assert many.disk.model == "cloud" and found.settings["few"].disk.model == "hdd"
    first, second, third = many.jobs[:3]
    assert (first.fio["rw"], second.fio["rw"], third.fio["rw"]) == ("read", "write", "read")
    assert second.fio["offset"] == "2g" and second.fio["numjobs"] == 6
    assert first.active == ((0, 4),) and many.jobs[-1].active == ((1, 3),)
    assert found.quick is not None
    assert (found.quick.seconds, found.quick.variants, found.quick.on_lv) == (2, ("few",), ())


def test_members() -> None:
    setting = scenario().settings["few"]
    assert [job.name for job in setting.members("late")] == ["late-job"]
    assert [job.name for job in setting.members("late-job")] == ["late-job"]
    assert len(setting.members("*")) == 3


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('title = "t"', "", "title: is missing"),
        ('title = "t"', "title = 7", "title: 7 is not a text"),
        ("seconds = 4", "", "run.seconds: is missing"),
        ("seconds = 4", "seconds = -1", "run.seconds: -1 is not in the range"),
        ("seconds = 4", "seconds = 0.2", "run.settle: 0.5 leaves nothing of 0.2"),
        ("seconds = 4", "secs = 4", "run.seconds: is missing"),
        ("seconds = 4", "seconds = 4\nseconds_of = 3", "run.seconds_of.: 3 is not a table"),
        (
            "seconds = 4",
            "seconds = 4\nseconds_of = { all = 3 }",
            "seconds_of.all: there is no such",
        ),
        ("seconds = 4", "seconds = 4\nseconds_of = { few = 0.1 }", "leaves nothing of 0.1 seconds"),
        (
            "seconds = 4",
            'seconds = 4\non_lv_variants = ["all"]',
            "on_lv_variants: 'all' is none of",
        ),
        ("seconds = 4", "seconds = 4\nsecs = 4", "run.secs: there is no such key"),
        ('"bfq", "ioband"]', '"cfq"]', "run.peers: 'cfq' is none of none, mq-deadline"),
        ('"bfq", "ioband"]', '"io.cost-latency"]', "run: io.cost-latency needs a group with"),
        ('variants = ["few"]', 'variants = ["fwe"]', "quick.variants: 'fwe' is none of few, many"),
        ('model = "$model"', 'model = "$modle"', "disk.model: $modle is not known; there are $n"),
        ('weight = "{i}0"', 'weight = "{i}0000"', "group[1].weight: 20000 is not in the range"),
        ('weight = "{i}0"', "weight = 1.5", "group[1].weight: 1.5 is not a whole number"),
        ('weight = "{i}0"', "weight = true", "group[1].weight: True is not a number"),
        ('name = "g{i}"', 'name = "g"', "group[1].name: of several groups needs"),
        ('name = "late"\n[[job]]', 'name = "g1"\n[[job]]', "there are several of the name 'g1'"),
        ('group = "late"', 'group = "latte"', "job[2].group: there is no group 'latte'"),
        ("[[1, 3]]", "[[3, 1]]", "job[2].active: [[3, 1]] is not in the order of time"),
        ("[[1, 3]]", "[1, 3]", "job[2].active: [1, 3] is not a list of spans"),
        ('fio = { rw = "read" }', 'fio = "read"', "job[2].fio: 'read' is not a table"),
        ('"share_error_pct"', '"shares"', "goal[1].metric: 'shares' is none of"),
        ('expect = "met"', 'expect = "maybe"', "goal[1].expect: 'maybe' is none of met, missed"),
        ('expect = "met"', "", "goal[1].expect: is"),
        ('missed = "It is too slow."', "", "goal[2].missed: says why"),
        ('expect = "met"', 'expect = "met"\nmissed = "No."', "goal[1].missed: says why"),
        (
            'expect = "met"',
            'expect = "met"\nmissed_in = ["few"]',
            "goal[1].missed_in: says in which",
        ),
        (
            'expect = "missed"',
            'expect = "missed"\nmissed_in = ["all"]',
            "missed_in: 'all' is none of",
        ),
        ("at_most = 2", "at_most = 2\nflat_pct = 5", "goal[1].flat_pct: bounds another figure"),
        ('title = "t"', 'title = "t"\nplot = "all"', "plot: 'all' is none of few, many"),
        ('of = "late"', 'of = "g9"', "goal[2].of: there is no group or job 'g9'"),
        ('of = "late"', 'of = ["late", "g1"]', "goal[2].base: is one group or job"),
        ('of = "late"', 'of = "late"\nwindow_ms = 3', "goal[2].window_ms: there is no such key"),
        ("[[goal]]\nname", "[goal]\nname", "Cannot"),
        ('name = "late"\n', 'name = "late"\npath = "late"\n', "'late' is not a path"),
    ],
)
def test_wrong(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        scenario(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith("S1.toml: ")
    assert complaint in str(caught.value)


def test_a_variant_may_take_longer() -> None:
    longer = scenario(GOOD.replace("seconds = 4", "seconds = 4\nseconds_of = { many = 9 }", 1))
    assert [longer.settings[name].jobs[0].active for name in ("few", "many")] == [
        ((0, 4),),
        ((0, 9),),
    ]
    seconds = {each.setting.variant: each.seconds for each in expand(longer, longer.full)}
    assert seconds["few"] == 4 and seconds["many"] == 9
    # The quick form has its own length, for all variants.
    assert longer.quick and longer.quick.length("many") == 2


def test_a_job_may_be_of_some_variants() -> None:
    text = GOOD.replace("active = [[1, 3]]", 'active = "$late"', 1)
    text = text.replace('model = "hdd" }', 'model = "hdd", late = [] }', 1)
    some = scenario(text.replace('model = "cloud" }', 'model = "cloud", late = [[1, 3]] }', 1))
    assert [len(some.settings[name].members("late")) for name in ("few", "many")] == [0, 1]


def test_some_variants_on_a_volume() -> None:
    some = scenario(GOOD.replace("[quick]", 'on_lv_variants = ["many"]\n[quick]', 1))
    on_lv = {each.setting.variant for each in expand(some, some.full) if each.on_lv}
    assert on_lv == {"many"} and some.full.variants == ("few", "many")


def test_expansion() -> None:
    found = scenario()
    labels = [each.label for each in expand(found, found.full)]
    assert labels == [
        "S1 few none",
        "S1 few bfq",
        "S1 few ioband",
        "S1 few ioband on a volume",
        "S1 many none",
        "S1 many bfq",
        "S1 many ioband",
        "S1 many ioband on a volume",
        "S1 many none only late",  # on another disk than with few
    ]
    assert found.quick is not None
    assert [each.label for each in expand(found, found.quick, quick=True)] == ["S1 few ioband"]
    quick = replace(found.quick, variants=("many",))
    assert [each.label for each in expand(found, quick)] == ["S1 many ioband", "S1 none only late"]
    assert [each.label for each in expand(found, quick, quick=True)] == ["S1 many ioband"]
    # The reference of a goal is run too, even if only one peer is selected.
    labels = [each.label for each in expand(found, replace(found.full, peers=("ioband",)))]
    assert "S1 many none only late" in labels and "S1 many bfq" not in labels
    # The reference runs on a volume if the peer itself does.
    volumes = scenario(GOOD.replace('on_lv = ["ioband"]', 'on_lv = ["none", "ioband"]'))
    compared = replace(volumes.goals[0], relative_to="none")
    volumes = replace(volumes, goals=(compared,))
    labels = [each.label for each in expand(volumes, replace(volumes.full, peers=("ioband",)))]
    assert "S1 many none on a volume" in labels
    # The run alone is made once if it is the same in all variants.
    same = scenario(GOOD.replace('model = "$model"', 'model = "hdd"'))
    assert "S1 none only late" in [each.label for each in expand(same, same.full)]


def test_clip_and_only() -> None:
    setting = scenario().settings["few"]
    assert [job.active for job in clip(setting, 2).jobs] == [((0, 2),), ((0, 2),), ((1, 2),)]
    assert [job.group for job in clip(setting, 1).jobs] == ["g1", "g2"]
    lone = only(setting, "late")
    assert [group.name for group in lone.groups] == ["late"] and lone.variant == ""


def test_alone_is_the_same_for_each_variant_that_does_not_change_it() -> None:
    text = GOOD.replace('model = "$model"', 'model = "hdd"')
    found = scenario(text)
    documents = [
        experiment(found, found.full, variant, "none", alone="late").document()
        for variant in ("few", "many")
    ]
    assert documents[0] == documents[1]


def test_the_peer_decides_the_document() -> None:
    found = scenario()
    documents = [
        experiment(found, found.full, "few", peer, on_lv).document()
        for peer, on_lv in (("none", False), ("bfq", False), ("bfq", True))
    ]
    assert documents[0] != documents[1] != documents[2]


def test_the_scenarios_of_the_repository() -> None:
    names = [each.name for each in load_all(METRIC_OPTIONS)]
    assert names == [*(f"S{number}" for number in range(1, 16)), "V10"]


def test_the_model_of_a_disk_is_of_what_it_keeps_up() -> None:
    """The first writes into a write cache do not count; the better depth does."""
    own = calibration(Disk("hdd", {}))
    traces = {}
    for (name, _, bs, depth), job in zip(COEFFICIENTS, own.setting.jobs, strict=True):
        size = 4096 if bs == "4k" else 1 << 20
        rate = 80 if (name, depth) == ("rseqiops", 1) else 40
        ((start, _),) = job.active
        load = [steady(1000, start, start + 1, size), steady(rate, start + 1, start + 3, size)]
        traces[job.name, 0] = merge(load)
    found = cost_model(Observation(own.setting, own.seconds, 0, traces))
    assert set(found) == {name for name, *_ in COEFFICIENTS}
    assert found["rseqiops"] == 80 and found["wrandiops"] == 40
    assert found["rbps"] == pytest.approx(40 << 20, rel=0.01)


def test_order() -> None:
    assert sorted(["V10", "S10", "S9"], key=order) == ["S9", "S10", "V10"]
