"""A lab's measurements, and its errors."""

import struct
import time
import unittest

from command import OnThisMachine, scenario, simulate, weir_binary
from host import measured

# Blocks of pcapng, and the type of NDN's link header in UDP.
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6


class Runs(OnThisMachine):
    def ran(self, *words, **options):
        """The document of a lab that has ended with success and left nothing."""
        running = self.start(*words, **options)
        while running.process.poll() is None:
            running.processes()
            time.sleep(0.1)
        self.assertEqual(running.process.returncode, 0, running.said.read_text())
        self.assert_nothing_is_left(running)
        return running

    def assert_shares(self, document, simulated, tolerance):
        """Each flow has its goodput from the simulator."""
        goodputs = lambda of: {flow["prefix"]: flow["goodput_bps"] for flow in of["windows"][-1]["flows"]}
        wanted = goodputs(simulated)
        for name, goodput in goodputs(document).items():
            self.assertLess(abs(goodput / wanted[name] - 1), tolerance, f"{name}: {goodput} and {wanted[name]} bit/s")

    def test_two_at_once_are_right(self):
        files = [self.folder / f"scenario-{rate}.toml" for rate in (2, 4)]
        for file, rate in zip(files, (2, 4)):
            file.write_text(scenario(2, rate=f"{rate} Mb/s"))
        options = ["--set=duration=6 s", "--window=2:6"]
        simulated = [simulate(file, *options) for file in files]

        def measure():
            labs = [self.start(file, *options, is_first=True) for file in files]
            self.assertEqual([lab.process.wait() for lab in labs], [0, 0])
            return [lab.document() for lab in labs]

        def check(documents):
            for document, wanted in zip(documents, simulated):
                self.assert_shares(document, wanted, 0.05)

        measured(measure, check)

    def test_a_hundred_flows_of_ten_nodes_have_their_shares(self):
        words = [self.file(4, flows=25, duration="7 s"), "--window=2:7"]
        simulated = simulate(*words)
        self.assertEqual((len(simulated["nodes"]), len(simulated["flows"])), (10, 100))
        measure = lambda: self.ran(*words, is_first=True).document()
        measured(measure, lambda document: self.assert_shares(document, simulated, 0.1))

    def test_fifty_nodes_are_soon_there(self):
        began = time.monotonic()
        running = self.ran(self.file(24, flows=1, duration="500 ms"))
        took = time.monotonic() - began
        print(f"50 nodes: {took:.1f} s with a run of half a second")
        self.assertEqual(len(running.document()["nodes"]), 50)
        self.assertGreater(len(running.networks), 50)
        self.assertLess(took, 20)

    def test_a_capture_has_the_packets_of_its_link(self):
        running = self.ran(self.file(2), "--capture", "R1-R2")
        names, frames = packets(running.out / "R1-R2.pcapng")
        self.assertEqual(names, ["R1 -> R2", "R2 -> R1"])
        document = running.document()
        for link in document["links"]:
            if {link["from"], link["to"]} == {"R1", "R2"}:
                count = len(frames[names.index(f"{link['from']} -> {link['to']}")])
                self.assertGreater(count, 100)
        # Ethernet, IPv4, UDP, the link header (0x64), and a Data (0x06) or an Interest (0x05).
        for frame in [frame for of_direction in frames.values() for frame in of_direction]:
            self.assertEqual((frame[12:14], frame[23]), (b"\x08\x00", 17))
            self.assertIn(frame[42], (0x64, 0x05, 0x06))

    def test_nodes_tell_of_their_queues_and_of_their_stores_also_after_a_failure(self):
        file = self.folder / "scenario.toml"
        file.write_text(CHANGES)
        document = self.ran(file, "--window=1:2.5").document()
        [link] = [link for link in document["links"] if (link["from"], link["to"]) == ("P", "R")]
        self.assertGreater(link["drops"], 10, "the flow asks for twice the rate of the link")
        self.assertGreater(link["queue_ms"]["mean"], 5)
        # The store of R fails with R. Its earlier counts must stay, and differences must not be negative.
        for of in (document, document["windows"][-1]):
            [store] = [node for node in of["nodes"] if node["node"] == "R"]
            self.assertTrue(100 < store["cache_misses"] < 4000, store)
        self.assertEqual(document["lab"]["doubts"], [])

    def test_a_scenario_of_commands_alone_takes_its_time(self):
        file = self.folder / "scenario.toml"
        file.write_text(COMMANDS)
        document = self.ran(file).document()
        self.assertEqual([flow["completion_s"] is not None for flow in document["flows"]], [True])
        self.assertEqual(document["simulated_s"], 2)

    def test_a_shell_is_at_its_node(self):
        shell = self.folder / "scenario.sh"
        words = [f"{weir_binary()} face --json >$OUT/faces", "cut -sd: -f1 /proc/net/dev >$OUT/networks", "pwd >$OUT/folder"]
        shell.write_text("\n".join(["#!/bin/sh", *words, ""]))
        shell.chmod(0o755)
        out = self.folder / "out-shell"
        out.mkdir()
        self.ran(self.file(2), "--shell", "C1", environment={"SHELL": str(shell), "OUT": str(out)})
        self.assertIn("udp4://10.", (out / "faces").read_text())
        # The loopback interface, and one with its neighbour's name.
        self.assertEqual(set((out / "networks").read_text().split()), {"R1", "lo"})
        self.assertIn("-C1\n", (out / "folder").read_text())


LINE = """
title = "A consumer, a router and a producer"
duration = "{duration}"
[scheme]
default = "fixed"
source = "assumed"
[[node]]
name = "C"
[[node]]
name = "R"
cache = 1000
source = "assumed"
[[node]]
name = "P"
{producer}
[defaults.link]
rate = "4 Mb/s"
delay = "5 ms"
queue = "20 packets"
source = "assumed"
[[link]]
ends = ["C", "R"]
[[link]]
ends = ["R", "P"]
[[flow]]
name = "only"
consumer = "C"
producer = "P"
prefix = "/p"
source = "assumed"
{flow}
"""

# The flow requests more than the links carry, the rates of both links of R change at the same time, and R fails for a
# while.
CHANGES = LINE.format(duration="3 s", producer="", flow='source_rate = "8 Mb/s"\nunresponsive = true') + "".join(
    f"""
[[event]]
at = "{at} s"
link = "{link}"
rate = "{rate} Mb/s"
source = "assumed"
"""
    for at, rate in ((0.5, 5), (0.6, 4))
    for link in ("C-R", "R-P")
) + """
[[event]]
at = "1.5 s"
node = "R"
up = false
source = "assumed"
[[event]]
at = "1.8 s"
node = "R"
up = true
source = "assumed"
"""

# Both the consumer and the producer are commands.
COMMANDS = LINE.format(duration="2 s", producer='command = "sleep 9"', flow='command = "sleep 0.3"')


def packets(file):
    """The names of the interfaces in a pcapng file, and the frames of each."""
    data, at = file.read_bytes(), 0
    names, frames = [], {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4) == (length,), (at, kind, length)
        body = data[at + 8 : at + length - 4]
        if kind == SECTION:
            assert struct.unpack_from("<I", body) == (0x1A2B3C4D,)
        elif kind == INTERFACE:
            names.append(options(body[8:]).get(2, b"").decode())
        elif kind == PACKET:
            interface, _, _, captured, original = struct.unpack_from("<IIIII", body)
            assert captured == original
            frames.setdefault(interface, []).append(body[20 : 20 + captured])
        at += length
    return names, frames


def options(data):
    """The options at the end of a block, by code."""
    found, at = {}, 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if not code:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
