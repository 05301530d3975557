"""Window laws in Python."""

import pytest

import weir
from weir.law import Congestion, Data, Flow, Loss, Send

SCENARIO = "examples/minimal"
LONG = {"link.alice-bob.queue": 20, "duration": "20 s"}


class Reno(weir.WindowLaw):
    """The rule of crates/schemes/src/window/reno.rs, with its defaults."""

    window = 4.0
    ssthresh = float("inf")

    def increase(self, data: Data) -> None:
        if self.window < self.ssthresh:
            self.window += data.packets
        else:
            self.window += min(data.packets, self.window) / self.window

    def decrease(self, congestion: Congestion) -> None:
        self.window = self.ssthresh = max(self.window * 0.5, 2.0)


def test_a_law_in_python_has_the_figures_of_the_same_law_in_rust():
    own = weir.run(SCENARIO, Reno(), set=LONG)
    listed = weir.run(SCENARIO, "reno", set=LONG)
    assert own.flows.rows() == listed.flows.rows()
    assert own.links.rows() == listed.links.rows()
    assert own.flows[0]["lost"] > 0, "the law was asked to decrease"
    assert own.scheme == "Reno" and own.document["command"] == ""


def test_parameters_that_laws_share_are_theirs():
    class Deaf(Reno):
        parameters = {"react_to": "marks", "cwa": False}

    short = {**LONG, "duration": "2 s"}
    set = {**short, "scheme.reno.react_to": "marks", "scheme.reno.cwa": False}
    deaf, listed = weir.run(SCENARIO, Deaf, set=short), weir.run(SCENARIO, "reno", set=set)
    assert deaf.flows.rows() == listed.flows.rows()
    assert deaf.flows[0]["lost"] > weir.run(SCENARIO, Reno, set=short).flows[0]["lost"]

    class Wrong(Reno):
        parameters = {"react_too": "marks"}

    with pytest.raises(weir.SchemeError, match="scheme.Wrong.react_too: unknown parameter(.|\n)*did you mean `react_to`"):
        weir.run(SCENARIO, Wrong())


def test_each_flow_has_a_law_of_its_own():
    flows = []

    class Watching(Reno):
        def begin(self, flow: Flow) -> None:
            flows.append((flow.class_name, flow.lifetime_s, self.window))
            self.window = 8.0

    law = Watching()
    result = weir.run("qsccp/dumbbell", law, set={"duration": "1 s"})
    assert len(flows) == 40 == result.flows.num_rows
    assert {window for _, _, window in flows} == {4.0} and law.window == 4.0
    assert {name for name, _, _ in flows} == {"EF", "AF2", "AF1", "BE"}


def test_a_law_hears_of_every_event():
    heard: dict[str, list] = {"send": [], "data": [], "loss": [], "decrease": [], "unused": []}

    class Listening(Reno):
        def on_send(self, send: Send) -> None:
            heard["send"].append((send.now_s, send.segment, send.retransmission, send.pending, send.late_s))

        def on_data(self, data: Data) -> None:
            heard["data"].append((data.now_s, data.segment, data.rtt_s, data.srtt_s, data.pending))

        def on_loss(self, loss: Loss) -> None:
            heard["loss"].append((loss.now_s, loss.segment, loss.pending, loss.highest_sent))

        def decrease(self, congestion: Congestion) -> None:
            heard["decrease"].append((congestion.sign, congestion.now_s))
            super().decrease(congestion)

        def on_unused(self, now_s: float) -> None:
            heard["unused"].append(now_s)

    result = weir.run(SCENARIO, Listening(), set=LONG)
    flow = result.flows[0]
    assert len(heard["loss"]) == flow["timeouts"] > 0
    assert sum(again for _, _, again, _, _ in heard["send"]) == flow["retransmitted"] > 0
    assert flow["goodput_bps"] == pytest.approx(len(heard["data"]) * 1024 * 8 / 20)
    assert {sign for sign, _ in heard["decrease"]} == {"loss"} and len(heard["decrease"]) < len(heard["loss"])
    _, _, rtt, srtt, _ = heard["data"][0]
    assert 0.020 < rtt == srtt < 0.025
    assert heard["unused"][0] == 0.0, "the first Interest finds nothing pending"
    times = [now for now, *_ in heard["data"]]
    assert times == sorted(times)


def test_a_law_may_say_what_a_mark_is():
    class Counting(Reno):
        asked = 0

        def is_marked(self, data: Data) -> bool:
            type(self).asked += 1
            return data.segment % 100 == 99

    marked = weir.run(SCENARIO, Counting(), set=LONG).flows[0]
    assert Counting.asked > 1000
    assert marked["goodput_bps"] < 0.9 * weir.run(SCENARIO, Reno(), set=LONG).flows[0]["goodput_bps"]


def test_a_law_may_have_a_pace():
    class Paced(weir.WindowLaw):
        window = 1000.0
        pacing_bps = 2e6

        def increase(self, data: Data) -> None:
            pass

        def decrease(self, congestion: Congestion) -> None:
            pass

    row = weir.run(SCENARIO, Paced()).links.rows()[1]
    assert row["utilisation"] == pytest.approx(0.2, rel=0.02)
    assert weir.run(SCENARIO, Paced()).flows[0]["lost"] == 0


def test_a_law_may_declare_interests_lost():
    class Hasty(Reno):
        def on_data(self, data: Data) -> None:
            if data.segment == 500:
                data.lost = (501, 511)

    hasty, patient = weir.run(SCENARIO, Hasty()), weir.run(SCENARIO, Reno())
    again = lambda result: result.flows[0]["retransmitted"] - result.flows[0]["timeouts"]
    assert again(patient) == 0 < again(hasty) <= 10, "some of their Data come before they are asked for again"


@pytest.mark.parametrize("method", ["begin", "increase", "decrease", "on_send", "on_data", "on_loss", "on_unused", "is_marked"])
def test_an_exception_ends_the_run_and_is_raised(method):
    def fail(self, *args):
        raise ArithmeticError(f"in {method}")

    failing = type("Failing", (Reno,), {method: fail})
    with pytest.raises(ArithmeticError, match=f"in {method}"):
        weir.run(SCENARIO, failing(), set=LONG)


@pytest.mark.parametrize("window", [0.5, float("nan"), float("inf"), -3])
def test_a_window_that_is_none_ends_the_run(window):
    class Odd(Reno):
        def increase(self, data: Data) -> None:
            self.window = window

    with pytest.raises(ValueError, match="Odd.increase left window = .*: give it 1 packet or more"):
        weir.run(SCENARIO, Odd())


def test_what_is_no_law_is_refused():
    with pytest.raises(TypeError, match="object is not a subclass of weir.WindowLaw"):
        weir.run(SCENARIO, object())  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="WindowLaw needs a method `increase"):
        weir.run(SCENARIO, weir.WindowLaw())
    with pytest.raises(weir.SchemeError, match="has the name of a scheme"):
        weir.run(SCENARIO, type("reno", (Reno,), {})())
