#!/usr/bin/env python3
"""QoS on real sockets: a scenario in the lab (`weir lab`), beside the simulator. Checked are

  - the goodput of each class: within 5 % of what the simulator has for the same scenario;
  - that nothing is lost: the forwarders and links drop nothing, no Interest is unanswered, times out or is sent again;
  - where the other classes ask for more than there is: the delay of class EF, whose 99th percentile is below the
    median of every other class; and that no Data is lost, only Interests.

A measurement that the host disturbed is repeated. Where the system permits no namespaces it says SKIP and why, and counts
its runs as skipped.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "apps"), str(HERE.parent / "lab")]

from command import run_first, weir_binary, why_not  # noqa: E402
from host import measured  # noqa: E402

TOLERANCE = 0.05  # maximum relative difference of a class's goodput
# Consumers end with pending Interests. Data for them are dropped with their face, or arrive unrequested.
AT_THE_END = {"face down", "unsolicited Data", "out of the lifetime"}


def main():
    arguments = parse_arguments()
    return run_all([lambda run=run: compare(arguments.scenario, arguments.seeds, *run) for run in RUNS])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", type=pathlib.Path, default=HERE / "dumbbell.toml")
    parser.add_argument("--seeds", type=int, default=3, help="runs of the simulator")
    return parser.parse_args()


def run_all(tests):
    """Runs tests, which raise AssertionError, and prints how many passed. Returns the exit code."""
    if reason := why_not():
        print(f"SKIP: {reason}\n0 passed, 0 failed, {len(tests)} skipped")
        return 0
    failed = 0
    for test in tests:
        try:
            test()
        except AssertionError as error:
            failed += 1
            print(f"FAILED: {error}\n")
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def compare(scenario, seeds, title, overrides, options, claims):
    """A run, real and simulated, for which these claims must hold."""
    print(f"{title}\n")
    simulated = simulate(scenario, overrides, seeds)

    def check(real):
        print_table(simulated, real)
        failures = [failure for claim in claims for failure in claim(simulated, real)]
        assert not failures, "; ".join(failures)

    measured(lambda: lab(scenario, overrides, *options), check)
    print()


def document(command, scenario, *options):
    """The JSON of a run, with its remarks."""
    words = [weir_binary(), command, str(scenario), *options, "--json"]
    first = run_first if command == "lab" else None
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=first)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return json.loads(done.stdout) | {"remarks": done.stderr.splitlines()}


def settings(overrides):
    return [word for override in overrides for word in ("--set", override)]


def lab(scenario, overrides, *options):
    return document("lab", scenario, *settings(overrides), *options)


def simulate(scenario, overrides, seeds=1):
    """The last window of the simulator's runs, as mean over the seeds, by class."""
    runs = [document("run", scenario, *settings(overrides), "--seed", str(seed)) for seed in range(1, seeds + 1)]
    runs = [classes_of(run) for run in runs]
    mean = lambda value: sum(map(value, runs)) / len(runs)
    return {
        name: {
            "goodput_bps": mean(lambda run: run[name]["goodput_bps"]),
            "delay_ms": {key: mean(lambda run: run[name]["delay_ms"][key]) for key in ("p50", "p99")},
        }
        for name in runs[0]
    }


def classes_of(run):
    return {figures["class"]: figures for figures in run["windows"][-1]["classes"]}


def total(run, key):
    """The sum over all flows for the whole run."""
    return sum(flow[key] for flow in run["flows"])


def print_table(simulated, real):
    got_of = classes_of(real)
    print("        goodput, Mb/s              delay, ms: simulator          real")
    print("class   simulator    real   ratio        p50      p99      p50      p99")
    for name, model in simulated.items():
        got = got_of[name]
        ratio = got["goodput_bps"] / model["goodput_bps"]
        delays = [of["delay_ms"][key] for of in (model, got) for key in ("p50", "p99")]
        print(
            f"{name:<7}{model['goodput_bps'] / 1e6:>10.3f}{got['goodput_bps'] / 1e6:>8.3f}{ratio:>8.3f}  "
            + "".join(f"{delay:>9.2f}" for delay in delays)
        )
    print(f"Interests sent again {total(real, 'retransmitted')}, timed out {total(real, 'timeouts')}", flush=True)


def shares_are_the_simulators(simulated, real):
    got = classes_of(real)
    for name, model in simulated.items():
        off = got[name]["goodput_bps"] / model["goodput_bps"] - 1
        if abs(off) > TOLERANCE:
            yield f"goodput of {name} is {100 * off:+.1f} % off the simulator's"


def expedited_is_ahead(_, real):
    got = classes_of(real)
    tail = got["EF"]["delay_ms"]["p99"]
    for name in got.keys() - {"EF"}:
        median = got[name]["delay_ms"]["p50"]
        if tail >= median:
            yield f"1 % of EF's Data take {tail:.2f} ms or more; half of {name}'s take {median:.2f} ms or less"


def nothing_is_lost(_, real):
    for key in ("timeouts", "retransmitted", "lost"):
        if total(real, key):
            yield f"{key}: {total(real, key)}"
    yield from lost_by_the_host(real)
    yield from drops(real, lambda reason: reason not in AT_THE_END)
    for link in real["links"]:
        if link["drops"]:
            yield f"{link['drops']} packets were dropped from {link['from']} to {link['to']}"


def no_data_is_lost(_, real):
    """Interests may be lost: a queue refuses them if the demand exceeds the capacity."""
    yield from lost_by_the_host(real)
    yield from drops(real, lambda reason: reason == "link queue full")


def lost_by_the_host(real):
    """Number of packets and connections for which there was no room."""
    yield from (line for line in real["remarks"] if "no room" in line or "the buffer of a connection was full" in line)


def drops(real, is_meant):
    for node in real["nodes"]:
        for row in node["drops"]:
            if is_meant(row["reason"]):
                yield f"{node['node']} dropped {row['data']} Data and {row['interests']} Interests: {row['reason']}"


# It is shorter than the scenario, because a second of the lab takes a second.
SHORT = ["duration=20 s", "window.steady.to=20 s"]
# A host is not always as punctual as a simulated router.
URGENT = ["--set", "scheme.qsccp.urgent_data=true"]
RUNS = [
    ("Consumers that obey their rates", SHORT, URGENT, [shares_are_the_simulators, nothing_is_lost]),
    (
        "Consumers of AF2, AF1 and BE that ask for 1.5 times the available rate",
        [
            *SHORT,
            *(
                f"flow.{name}.{key}={value}"
                for name, rate in [("AF2", "700 kb/s"), ("AF1", "500 kb/s"), ("BE", "300 kb/s")]
                for key, value in [("source_rate", rate), ("unresponsive", "true")]
            ),
        ],
        URGENT,
        [shares_are_the_simulators, expedited_is_ahead, no_data_is_lost],
    ),
]


if __name__ == "__main__":
    sys.exit(main())
