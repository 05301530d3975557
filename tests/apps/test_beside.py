"""`weir get` over a wire with an MTU of 1500: beside TCP, beside a ping, and without rates at the forwarders. These
tests take minutes, and need root and idle processors: WEIR_FULL=1. In simulated time,
`crates/schemes/src/window/beside.rs` and the tests of `qsccp/cra.rs` and `bbr.rs` check the same."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from path import FULL

HERE = pathlib.Path(__file__).resolve().parent
CAN = FULL and os.geteuid() == 0 and pathlib.Path("/dev/net/tun").exists()


def measured(*options):
    words = [str(word) for word in [sys.executable, HERE / "beside.py", *options]]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=True)
    print(" ".join(words[2:]), done.stdout.strip())
    return json.loads(done.stdout)


@unittest.skipUnless(CAN, "it measures for minutes, as root: WEIR_FULL=1")
class Beside(unittest.TestCase):
    def test_cubic_shares_with_cubic_of_tcp(self):
        for buffer in (20, 100):
            got = measured(
                "--scheme", "cubic", "--tcp", "cubic", "--buffer", buffer, "--seconds", 80, "--settle", 20
            )  # fmt: skip
            ratio = got["get_mbps"] / got["tcp_mbps"]
            self.assertGreater(ratio, 1 / 1.5, f"buffer of {buffer} ms")
            self.assertLess(ratio, 1.5, f"buffer of {buffer} ms")

    def test_a_ping_beside_bbr_waits_for_a_base_round_trip_at_most(self):
        got = measured("--rate", 10e6, "--buffer", 200, "--seconds", 25)
        self.assertLess(got["round_trips_ms"]["p50"], 40)

    def test_qsccp_finds_the_rate_of_a_path_that_says_none(self):
        for rate in (10e6, 100e6):
            for rtt in (20, 100):
                got = measured("--scheme", "qsccp", "--rate", rate, "--rtt", rtt, "--seconds", 30, "--settle", 10)
                self.assertGreater(got["get_mbps"], 0.8e-6 * rate, f"{rate} bit/s, {rtt} ms")


if __name__ == "__main__":
    unittest.main(verbosity=2)
