"""Files come whole over links that lose, repeat and reorder, and after links, producers and forwarders were away.

WEIR_FULL=1 has the sizes and times of the documentation: a gigabyte, and half a minute."""

import hashlib
import os
import pathlib
import random
import signal
import threading
import time
import unittest

from path import Failed, Path, finish, kill, statistics, wait_for

FULL = bool(os.environ.get("WEIR_FULL"))
LARGE = 1 << 30 if FULL else 24 << 20
AWAY = 30 if FULL else 6


def make_file(path, size, seed=1):
    """A file of random bytes; their digest."""
    source, digest = random.Random(seed), hashlib.sha256()
    with path.open("wb") as out:
        for at in range(0, size, 1 << 20):
            piece = source.randbytes(min(1 << 20, size - at))
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()


def digest_of(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class OnAPath(unittest.TestCase):
    def path(self, *relay, **options):
        path = Path(*relay, **options)
        self.addCleanup(path.close)
        return path

    def file(self, path, size, seed=1):
        file = path.lab.folder / f"file-{seed}"
        return file, make_file(file, size, seed)

    def got(self, path):
        return path.lab.folder / "got"


class BadLinks(OnAPath):
    def test_loss_repetition_and_another_order(self):
        path = self.path("--loss", "0.01", "--duplicate", "0.01", "--reorder", "0.01")
        file, digest = self.file(path, LARGE)
        path.put("/movies/a", file)
        got = path.get("/movies/a", self.got(path), timeout=1800)
        self.assertEqual(digest_of(self.got(path)), digest)
        print(f"1 % of all: {got['goodput_bps'] / 1e6:.0f} Mb/s, {got['retransmitted']} sent again")

    def test_a_link_that_is_cut(self):
        path = self.path("--rate", "40e6", "--delay", "5")
        file, digest = self.file(path, 24 << 20)
        path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        time.sleep(2)
        path.cut(AWAY)
        finish(getting)
        self.assertEqual(digest_of(self.got(path)), digest)


class Restarts(OnAPath):
    """While a file comes at 40 Mb/s, for five seconds or so, somebody is killed, and started again."""

    def begin(self):
        path = self.path("--rate", "40e6", "--delay", "1")
        file, self.digest = self.file(path, 24 << 20)
        producer = path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        time.sleep(2)
        self.assertIsNone(getting.poll(), "it is not done yet")
        return path, file, producer, getting

    def end(self, path, getting):
        finish(getting)
        self.assertEqual(digest_of(self.got(path)), self.digest)

    def test_the_producer(self):
        path, file, producer, getting = self.begin()
        kill(producer)
        path.far.wait_no_route("/movies/a")
        time.sleep(1)
        path.put("/movies/a", file)
        self.end(path, getting)

    def test_the_far_forwarder(self):
        path, _, _, getting = self.begin()
        path.restart("far")
        self.end(path, getting)

    def test_the_near_forwarder(self):
        path, _, _, getting = self.begin()
        path.restart("near")
        self.end(path, getting)

    def test_the_consumer(self):
        path, _, _, getting = self.begin()
        getting.send_signal(signal.SIGINT)
        getting.wait(timeout=60)
        self.assertEqual(getting.returncode, 130)
        self.assertFalse(self.got(path).exists(), "what is not whole has another name")
        got = path.get("/movies/a", self.got(path))
        self.assertEqual(digest_of(self.got(path)), self.digest)
        self.assertLess(got["delivered_bytes"], 23 << 20, "it did not begin anew")


class Rates(OnAPath):
    """Paths are filled without hand-tuning."""

    def test_a_slow_path_that_is_far(self):
        path = self.path("--rate", "1e6", "--delay", "300")
        file, digest = self.file(path, 12_000_000 if FULL else 6_000_000)
        path.put("/movies/a", file)
        got = path.get("/movies/a", self.got(path), timeout=300)
        self.assertEqual(digest_of(self.got(path)), digest)
        print(f"1 Mb/s, 600 ms: goodput {got['goodput_bps'] / 1e6:.3f} Mb/s")
        # Names, signatures and headers are some 2 % of each Data.
        self.assertGreater(got["goodput_bps"], 0.9e6)

    def test_two_consumers_of_one_file_are_served_once(self):
        path = self.path("--rate", "40e6", "--delay", "5", cached=65536)
        file, digest = self.file(path, 8 << 20)
        path.put("/movies/a", file)
        tos = [self.got(path).with_suffix(f".{number}") for number in range(2)]
        getting = [path.start_get("/movies/a", to) for to in tos]
        for process in getting:
            finish(process)
        self.assertEqual([digest_of(to) for to in tos], [digest] * 2)
        passed = next(face for face in path.near.command("face") if face["remote"].startswith("udp4"))
        self.assertLess(passed["in_data"], 1.1 * (8 << 20) / 8000)


class Honest(OnAPath):
    def test_nothing_is_written_that_nobody_has_signed(self):
        path = self.path()
        file, _ = self.file(path, 1 << 20)
        path.put("/movies/a", file)
        with self.assertRaises(Failed) as wrong:
            path.get("/movies/a", self.got(path), "--hmac-file", "/dev/null")
        self.assertFalse(self.got(path).exists())
        self.assertIn("sign", str(wrong.exception))

    def test_a_name_that_nobody_has(self):
        path = self.path()
        with self.assertRaises(Failed) as missing:
            path.get("/movies/none", self.got(path), "--patience", "3s")
        self.assertIn("/movies/none", str(missing.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
