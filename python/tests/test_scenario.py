"""Scenarios from files and from Python objects."""

import dataclasses
import pickle
import random

import networkx
import numpy
import pytest

import weir
from weir import _toml

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

MINIMAL = {
    "title": "Two nodes",
    "duration": 10,
    "scheme": "reno",
    "nodes": ["alice", "bob"],
    "links": [{"ends": ["alice", "bob"], "rate": "10 Mb/s", "delay": "10 ms"}],
    "flows": [{"name": "video", "consumer": "alice", "producer": "bob", "prefix": "/video"}],
}


def test_a_scenario_of_the_list_is_known_by_its_name():
    scenario = weir.Scenario.load("qsccp/dumbbell")
    assert (scenario.name, scenario.scheme, scenario.duration_s) == ("qsccp/dumbbell", "qsccp", 120)
    assert scenario.title and scenario.source and "[[link]]" in scenario.text
    assert {"key", "value", "source"} == set(scenario.parameters.column_names)
    assert weir.Scenario.load("qsccp/friendliness").axes


def test_a_file_is_read(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(weir.Scenario.load("examples/minimal").text)
    assert weir.run(file).flows.rows() == weir.run("examples/minimal").flows.rows()


def test_a_mistake_in_a_file_has_its_place(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(weir.Scenario.load("examples/minimal").text.replace('class = "BE"', 'clas = "BE"'))
    with pytest.raises(weir.ScenarioError) as raised:
        weir.run(file)
    error = raised.value
    line = 1 + file.read_text().splitlines().index('clas = "BE"')
    assert (error.file, error.line, error.column, error.key) == (str(file), line, 1, "flow.video")
    assert "did you mean `class`" in error.message and "keys here: name" in error.help
    assert str(error).startswith(f"{file}:{line}: flow.video: unknown key `clas`") and "^^^^" in str(error)
    assert isinstance(error, weir.WeirError)


def test_a_mistake_in_set_has_its_key():
    with pytest.raises(weir.ScenarioError) as raised:
        weir.run("examples/minimal", set={"link.alice-bob.rat": "5 Mb/s"})
    assert (raised.value.key, raised.value.line) == ("link.alice-bob.rat", None)
    assert raised.value.file == "--set link.alice-bob.rat=5 Mb/s"


@pytest.mark.parametrize(
    "name, said", [("qsccp/dumbell", "did you mean `qsccp/dumbbell`"), (".", "is a folder, not a scenario")]
)
def test_what_is_no_scenario_is_refused(name, said):
    with pytest.raises(weir.ScenarioError, match=said):
        weir.Scenario.load(name)


def test_a_parameter_that_a_scheme_does_not_have_is_refused():
    with pytest.raises(weir.ScenarioError, match="did you mean `beta`") as raised:
        weir.scenario(**MINIMAL, schemes={"reno": {"bta": 0.5}})
    assert raised.value.key == "scheme.reno.bta"


def test_a_scenario_goes_to_other_processes_as_its_text():
    scenario = weir.Scenario.load("qsccp/dumbbell", {"duration": "5 s"})
    copy = pickle.loads(pickle.dumps(scenario))
    assert (copy.name, copy.text, copy.set) == (scenario.name, scenario.text, scenario.set)
    assert weir.run(copy).document["command"] == weir.run(scenario).document["command"] != ""


def test_a_scenario_of_python_objects_runs_as_the_same_file_does():
    result = weir.run(weir.scenario(**MINIMAL))
    file = weir.run("examples/minimal", "reno", set={"link.*.queue": 100, "flow.*.payload": "1024 B"})
    assert result.flows.column("goodput_bps")[0] == file.flows.column("goodput_bps")[0]


def test_every_part_of_a_file_has_an_argument():
    scenario = weir.scenario(
        title='A "quoted" title',
        source="assumed: a test",
        duration="12 s",
        sample="200 ms",
        scheme="qsccp",
        schemes={"qsccp": {"weights": {"AF2": 4}}},
        defaults={"link": {"queue": "50 packets", "source": "assumed: short"}},
        nodes=["C1", {"name": "R", "cache": "10 MB", "position": (1, 2)}, {"name": ["P", "Q"], "cache": None}],
        links=[{"ends": ["C1", "R"], "rate": ["20 Mb/s", "10 Mb/s"], "delay": "1 ms"}, {"between": ["R-P", "R-Q"], "rate": "5 Mb/s", "delay": "2 ms"}],
        flows=[{"name": "web", "consumer": "C1", "producer": ["P", "Q"], "prefix": "/web", "class": "AF2"}],
        routing={"policy": "shortest-path", "metric": "delay"},
        routes=[{"prefix": "/web", "hops": ["C1->R", "R->P|Q"]}],
        events=[{"at": "5 s", "link": "R-P", "up": False}],
        windows=[{"name": "steady", "from": "6 s", "to": "12 s"}],
        expectations=[{"source": "theory: one link is left", "metric": "goodput", "flow": "web", "window": "steady", "at_most": "5 Mb/s"}],
        axes=[{"name": "rate", "set": "link.R-Q.rate", "values": ["1 Mb/s", "5 Mb/s"]}],
        name="all-parts",
    )
    document = tomllib.loads(scenario.text)
    assert document["scheme"] == {"default": "qsccp", "qsccp": {"weights": {"AF2": 4}}}
    assert document["node"][1]["position"] == [1, 2] and "cache" not in document["node"][2]
    assert scenario.axes == {"rate": ["1 Mb/s", "5 Mb/s"]} and scenario.windows[0]["name"] == "steady"
    result = weir.run(scenario, set={"axis.rate": "1 Mb/s"})
    assert result.scenario == "all-parts" and result.expectations.num_rows == 1
    assert result.flows[1]["window"] == "6:12" and 0 < result.flows[1]["goodput_bps"] < 1e6


def test_tables_may_be_dataclasses():
    @dataclasses.dataclass
    class Link:
        ends: tuple
        rate: str
        delay: str = "10 ms"
        loss: object = None

    given = {**MINIMAL, "links": [Link(("alice", "bob"), "10 Mb/s", loss=numpy.float64(0.25))]}
    assert tomllib.loads(weir.scenario(**given).text)["link"] == [
        {"ends": ["alice", "bob"], "rate": "10 Mb/s", "delay": "10 ms", "loss": 0.25}
    ]
    with pytest.raises(TypeError, match="no place for a object"):
        weir.scenario(**{**MINIMAL, "links": [Link(object(), "10 Mb/s")]})


def test_a_mistake_in_python_objects_has_its_key_and_the_line_of_the_text():
    links = [{"ends": ["alice", "bob"], "rate": "10 Mb", "delay": "10 ms"}]
    with pytest.raises(weir.ScenarioError) as raised:
        weir.scenario(**{**MINIMAL, "links": links}, name="mine")
    error = raised.value
    assert (error.file, error.key) == ("mine", "link.alice-bob.rate")
    assert 'rate = "10 Mb"' in str(error) and "10 Mb/s" in error.message


def graph(kind=networkx.Graph):
    made = kind()
    made.add_edge("a", "r", rate="10 Mb/s", delay="1 ms", weight=3)
    made.add_edge("r", "b", rate="5 Mb/s", delay="1 ms", queue=20, weight=4)
    made.nodes["r"]["cache"] = "100 packets"
    return made


FLOW = {"name": "f", "consumer": "a", "producer": "b", "prefix": "/f"}
OF_GRAPH = {"title": "A graph", "duration": 2, "scheme": "reno", "flows": [FLOW]}


def test_a_graph_is_a_network():
    scenario = weir.scenario(graph(), **OF_GRAPH, ignore=["weight"])
    result = weir.run(scenario)
    assert result.nodes.column("node") == ["a", "r", "b"]
    assert result.nodes.column("role") == ["consumer", "router", "producer"]
    assert [row["rate_bps"] for row in result.links.rows()[:4]] == [10e6, 10e6, 5e6, 5e6]
    values = {row["key"]: row["value"] for row in scenario.parameters.rows()}
    assert values["node.r.cache"] == "100 packets" and values["link.r-b.queue"] == "20"


def test_an_attribute_that_is_no_key_is_refused():
    with pytest.raises(weir.ScenarioError, match="unknown key `weight`") as raised:
        weir.scenario(graph(), **OF_GRAPH)
    assert raised.value.key == "link.a-r"


def test_edges_of_a_directed_graph_are_directions():
    directed = graph(networkx.DiGraph)
    directed.add_edge("r", "a", rate="1 Mb/s", delay="1 ms")
    links = weir.run(weir.scenario(directed, **OF_GRAPH, ignore=["weight"])).links.rows()[:4]
    rates = {(row["from"], row["to"]): row["rate_bps"] for row in links}
    assert rates == {("a", "r"): 10e6, ("r", "a"): 1e6, ("r", "b"): 5e6, ("b", "r"): 5e6}
    directed.add_edge("b", "r", queue=30)
    with pytest.raises(ValueError, match="queue of r-b is 20 one way and 30 the other"):
        weir.scenario(directed, **OF_GRAPH, ignore=["weight"])
    with pytest.raises(ValueError, match="not a multigraph"):
        weir.scenario(networkx.MultiGraph(directed), **OF_GRAPH)


def any_value(draw: random.Random, depth: int):
    kinds = ["text", "int", "float", "bool"] + (["list", "table", "tables"] if depth else [])
    match draw.choice(kinds):
        case "text":
            return "".join(chr(draw.choice([0, 9, 10, 34, 92, 127, 65, 0xE9, 0x1F600, 0xFFFF])) for _ in range(draw.randrange(6)))
        case "int":
            return draw.randrange(-(2**63), 2**63)
        case "float":
            return draw.choice([0.5, -1e300, 1e-300, float("inf"), 3.0])
        case "bool":
            return draw.random() < 0.5
        case "list":
            return [draw.randrange(9) for _ in range(draw.randrange(4))]
        case "table":
            return any_table(draw, depth - 1)
        case _:
            return [any_table(draw, depth - 1) for _ in range(draw.randrange(1, 4))]


def any_table(draw: random.Random, depth: int):
    keys = ["a", "b-c", "d.e", "", "é", '"']
    return {key: any_value(draw, depth) for key in draw.sample(keys, draw.randrange(len(keys)))}


@pytest.mark.parametrize("seed", range(300))
def test_text_of_any_document_reads_as_that_document(seed):
    document = any_table(random.Random(seed), 4)
    assert tomllib.loads(_toml.text(_toml.plain(document))) == document
