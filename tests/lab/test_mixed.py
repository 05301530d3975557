#!/usr/bin/env python3
"""A mixed network in the lab: Weir, ndnd and Weir in a line, and ndnd's applications."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# `tests/interop/install.sh` installs it there.
PEER = ROOT / "tests" / "interop" / "peers" / "ndnd"

NODES = """
title = "Weir, ndnd, Weir"
source = "assumed: a line of forwarders of two kinds"
duration = "3 s"
[scheme]
default = "qsccp"
[[node]]
name = "R2"
forwarder = "ndnd"
[[node]]
name = ["C1", "C2", "R1", "R3", "P1", "P2"]
[defaults.link]
rate = "20 Mb/s"
delay = "5 ms"
queue = "50 packets"
[[link]]
between = ["C1-R1", "C2-R1", "R1-R2", "R3-P1", "R3-P2"]
[[link]]
ends = ["R2", "R3"]
rate = "5 Mb/s"
"""
FLOWS = """
[[flow]]
name = "AF2"
consumer = "C1"
producer = "P1"
prefix = "/A"
class = "AF2"
[[flow]]
name = "BE"
consumer = "C2"
producer = "P2"
prefix = "/B"
"""
# The producer and one consumer are ndnd's. The other consumers fail or do not end.
COMMANDS = """
[[flow]]
name = "file"
consumer = "C1"
producer = "P1"
prefix = "/file"
start = "1 s"
command = "$NDND cat $NDN_PREFIX"
[[flow]]
name = "bad"
consumer = "C2"
producer = "P2"
prefix = "/bad"
command = "echo no luck; exit 3"
[[flow]]
name = "long"
consumer = "R2"
producer = "P2"
prefix = "/long"
stop = "2 s"
command = "sleep 1000.25 & sleep 1000.25"
"""

# Types of NDNLPv2: a packet, its fragment; the fields of Weir are from 864 to 956.
LP_PACKET, FRAGMENT = 100, 80
INTEREST, DATA = 5, 6
SIGNALS = range(864, 957)


def weir_binary():
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    return pathlib.Path(os.environ.get("WEIR", pathlib.Path(target) / "release" / "weir"))


def ndnd():
    """The path of the program, or None."""
    found = os.environ.get("NDND") or (PEER if PEER.exists() else shutil.which("ndnd"))
    return found and str(found)


def elements(wire):
    """The TLV elements in some bytes: types and values."""

    def number(at):
        first = wire[at]
        size = {253: 2, 254: 4, 255: 8}.get(first, 0)
        return (int.from_bytes(wire[at + 1 : at + 1 + size]) if size else first), at + 1 + size

    at = 0
    while at < len(wire):
        typ, at = number(at)
        length, at = number(at)
        yield typ, wire[at : at + length]
        at += length


def signals_of(path):
    """Counts the packets of a capture with and without signals, by direction and kind of packet."""
    wire, at, names, counts = path.read_bytes(), 0, [], {}
    while at < len(wire):
        kind, length = struct.unpack_from("<II", wire, at)
        body = wire[at + 8 : at + length - 4]
        at += length
        if kind == 1:
            option, size = struct.unpack_from("<HH", body, 8)
            names.append(body[12 : 12 + size].decode() if option == 2 else str(len(names)))
        if kind == 6:
            interface, _, _, captured = struct.unpack_from("<IIII", body)
            datagram = body[20 : 20 + captured][14 + 20 + 8 :]
            (outer, value), *_ = elements(datagram)
            header = dict(elements(value)) if outer == LP_PACKET else {FRAGMENT: datagram}
            packet = header.get(FRAGMENT, b"\0")[0]
            key = (names[interface], {INTEREST: "Interest", DATA: "Data"}.get(packet))
            with_and_without = counts.setdefault(key, [0, 0])
            with_and_without[0 if any(typ in SIGNALS for typ in header) else 1] += 1
    return counts


class Mixed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not ndnd():
            raise unittest.SkipTest("ndnd is not installed: tests/interop/install.sh does it, and needs Go")
        tried = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False)
        if os.geteuid() != 0 and tried.returncode != 0:
            raise unittest.SkipTest(f"no namespaces of our own: {tried.stderr.decode().strip()}")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-lab-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def weir(self, verb, text, *options):
        """The results of a scenario, and the messages."""
        file = self.folder / "mixed.toml"
        file.write_text(text)
        command = [weir_binary(), verb, file, *options]
        env = os.environ | {"NDND": ndnd()}
        done = subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def goodput(self, verb, scheme):
        document = json.loads(self.weir(verb, NODES + FLOWS, "--scheme", scheme, "--json").stdout)
        return [flow["goodput_bps"] for flow in document["flows"]]

    def test_schemes_work_end_to_end_as_in_the_simulator(self):
        for scheme in ("sluice", "cubic"):
            with self.subTest(scheme=scheme):
                lab, simulated = self.goodput("lab", scheme), self.goodput("run", scheme)
                # The tolerance is wide: the period includes the start, and the machine has other work.
                self.assertGreater(sum(lab), 0.7 * sum(simulated), (lab, simulated))
                self.assertLess(sum(lab), 1.1 * sum(simulated), (lab, simulated))

    def test_signals_of_qsccp_end_at_ndnd(self):
        out = self.folder / "out"
        captures = ["--capture", "R1-R2", "--capture", "R2-R3"]
        done = self.weir("lab", NODES + FLOWS, "--out", out, *captures)
        self.assertNotIn("has ended", done.stderr)
        before, behind = signals_of(out / "R1-R2.pcapng"), signals_of(out / "R2-R3.pcapng")
        # Frames from Weir carry the signals; frames forwarded by ndnd do not.
        self.assertGreater(before["R1 -> R2", "Interest"][0], 100)
        self.assertEqual(behind["R2 -> R3", "Interest"][0], 0)
        self.assertGreater(behind["R2 -> R3", "Interest"][1], 100)
        self.assertGreater(behind["R3 -> R2", "Data"][0], 100)
        self.assertEqual(before["R2 -> R1", "Data"][0], 0)
        self.assertGreater(before["R2 -> R1", "Data"][1], 100)

    def test_commands_are_flows(self):
        producer = '[[node]]\nname = "P1"\ncommand = "head -c 300000 /dev/zero | $NDND put /file"\n'
        text = NODES.replace('"P1", "P2"]\n', '"P2"]\n' + producer) + COMMANDS
        out = self.folder / "out"
        said = self.weir("lab", text, "--out", out).stderr
        self.assertEqual((out / "commands" / "file-0.log").read_bytes().count(0), 300_000, said)
        self.assertRegex(said, r"flow file of /file ended well")
        self.assertRegex(said, r"flow bad of /bad failed .* status: 3; .*no luck")
        self.assertRegex(said, r"flow long of /long ran until it was stopped")
        flows = json.loads((out / "run.json").read_text())["flows"]
        self.assertEqual([flow["completion_s"] is not None for flow in flows], [True, False, False])
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("sleep 1000.25", running)
        # The simulator has ordinary consumers instead.
        simulated = json.loads(self.weir("run", text, "--json").stdout)
        self.assertTrue(all(flow["goodput_bps"] > 0 for flow in simulated["flows"]))


if __name__ == "__main__":
    unittest.main()
