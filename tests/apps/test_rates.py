"""Fast paths are filled, classes share by weight, and consumers of the same content are served once. These tests need
the processors, and run one after another."""

import pathlib
import time
import unittest

from host import measured
from path import FULL, SEGMENT, OnAPath, digest_of, finish, kill, wait_for

# QSCCP's classes, from docs/schemes/qsccp.md.
WEIGHTS = {"AF2": 3, "BE": 1}

# The fast path, Mb/s: what two processors can do besides other work.
FAST = 200
# If more than this fraction of the processors is used, they limit the rate; and how often to wait for a better moment.
BUSY, TRIES = 0.9, 3


def processors():
    """Busy and total time of the processors, ticks."""
    user, nice, system, idle, waiting, *more = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    ran = user + nice + system + sum(more)
    return ran, ran + idle + waiting


class Rates(OnAPath):
    @unittest.skipUnless(FULL, "it measures the host: WEIR_FULL=1, with the processors to itself")
    def test_a_fast_path_is_filled(self):
        path = self.path(rate=f"{FAST} Mb/s", cached=0)
        file, digest = self.file(path, FAST * 500_000)
        path.put("/movies/a", file)
        for _ in range(TRIES):
            content, busy = self.fill(path, digest)
            if content > 0.9 * FAST:
                return
            self.assertGreater(busy, BUSY, "the processors had time to spare")
        self.skipTest(f"others kept the processors busy ({100 * busy:.0f} %), which were the bottleneck")

    def fill(self, path, digest):
        """Received content, Mb/s; and the fraction of busy processors meanwhile."""
        before, ran = path.link_bytes(), processors()
        got = path.get("/movies/a", self.got(path))
        busy, total = (now - then for now, then in zip(processors(), ran))
        frames = 8e-6 * (path.link_bytes() - before) / got["completion_s"]
        self.assertEqual(digest_of(self.got(path)), digest)
        content = got["goodput_bps"] / 1e6
        print(
            f"{FAST} Mb/s: content {content:.1f}, frames {frames:.1f} Mb/s, round trips {got['delay_ms']['p50']} ms, "
            f"processors {100 * busy / total:.0f} % busy"
        )
        return content, busy / total

    def test_two_consumers_of_one_file_are_served_once(self):
        path = self.path("--rate", "40e6", "--delay", "5", cached=65536)
        file, digest = self.file(path, 8_000_000)
        path.put("/movies/a", file)
        before = path.link_bytes()
        tos = [self.got(path).with_suffix(f".{number}") for number in range(2)]
        for process in [path.start_get("/movies/a", to) for to in tos]:
            finish(process)
        self.assertEqual([digest_of(to) for to in tos], [digest] * 2)
        times = (path.link_bytes() - before) / 8_000_000
        print(f"two of one file: it came {times:.3f} times, with its headers")
        self.assertLess(times, 1.1)


class Classes(OnAPath):
    """Two consumers of different classes fetch files over one link of 20 Mb/s at the same time."""

    SETTLE, MEASURE = 3, 12 if FULL else 6

    def share(self, scheme, tolerance):
        path = self.path(rate="20 Mb/s", scheme="qsccp", cached=0)
        for seed, name in enumerate(WEIGHTS):
            file, _ = self.file(path, 60_000_000, seed)
            path.put(f"/{name}", file)

        def check(rates):
            together = sum(rates.values())
            self.assertGreater(together, 0.9 * 20)
            for name, weight in WEIGHTS.items():
                self.assertAlmostEqual(rates[name] / together, weight / sum(WEIGHTS.values()), delta=tolerance)

        measured(lambda: self.rates(path, scheme), check)

    def rates(self, path, scheme):
        """Content of each class, Mb/s."""
        # The output is a pipe, which has each Data at once; a file is written once a second.
        gets = {name: path.start_stream(f"/{name}", "--class", name, "--scheme", scheme) for name in WEIGHTS}
        streams = {name: get.path for name, get in gets.items()}
        wait_for("both to begin", lambda: all(self.sizes(streams).values()))
        time.sleep(self.SETTLE)
        sizes, began = [self.sizes(streams)], time.monotonic()
        time.sleep(self.MEASURE)
        sizes.append(self.sizes(streams))
        took = time.monotonic() - began
        for get in gets.values():
            kill(get)
        rates = {name: 8e-6 * (sizes[1][name] - sizes[0][name]) / took for name in WEIGHTS}
        print(f"{scheme}: content, Mb/s:", ", ".join(f"{name} {rate:.2f}" for name, rate in rates.items()))
        return rates

    @staticmethod
    def sizes(streams):
        return {name: stream.stat().st_size for name, stream in streams.items()}

    def test_classes_share_a_link_by_weight(self):
        self.share("qsccp", 0.02)

    def test_classes_share_a_link_by_weight_whatever_the_consumers_scheme(self):
        self.share("bbr", 0.02)


class Slow(OnAPath):
    def test_a_slow_path_that_is_far_is_filled(self):
        path = self.path("--rate", "1e6", "--delay", "300")
        file, digest = self.file(path, 12_000_000)
        path.put("/movies/a", file)
        before = path.link_bytes()
        got = path.get("/movies/a", self.got(path), timeout=300)
        wire = 8 * (path.link_bytes() - before) / got["completion_s"]
        self.assertEqual(digest_of(self.got(path)), digest)
        print(f"1 Mb/s, 600 ms: content {got['goodput_bps'] / 1e6:.3f}, frames {wire / 1e6:.3f} Mb/s, with the beginning")
        self.assertGreater(got["goodput_bps"], 0.9e6)

    def test_a_near_cache_that_has_a_part_does_not_make_a_far_path_slow(self):
        path = self.path("--rate", "20e6", "--delay", "100", "--queue", "400", cached=65536)
        file, digest = self.file(path, 160 * SEGMENT)
        path.put("/movies/a", file)
        first = path.get("/movies/a", self.got(path))
        # Every 20th segment stays in the near forwarder.
        for segment in range(160):
            if segment % 20:
                path.near.command("cs", "erase", f"{first['object']}/seg={segment}")
        again = path.get("/movies/a", self.got(path).with_suffix(".again"))
        self.assertEqual(digest_of(self.got(path).with_suffix(".again")), digest)
        print(f"200 ms: {first['completion_s']:.2f} s, with 5 % in a near cache {again['completion_s']:.2f} s")
        self.assertLess(again["completion_s"], 2 * first["completion_s"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
