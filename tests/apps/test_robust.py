"""Files arrive complete over bad links, and after failures of links, producers, forwarders and consumers. A file that
cannot arrive completely ends with an error that says why, and wrong content is never written. These tests mostly wait,
and may run simultaneously."""

import json
import random
import shutil
import signal
import socket
import subprocess
import time
import unittest

from path import (
    FORWARDER,
    FULL,
    SEGMENT,
    Failed,
    Lab,
    OnAPath,
    digest_of,
    finish,
    free_port,
    kill,
    statistics,
    wait_for,
    weir_binary,
)

LARGE = 1 << 30 if FULL else 16_000_000
AWAY = 30 if FULL else 6


class BadLinks(OnAPath):
    def test_loss_repetition_and_another_order(self):
        path = self.path("--loss", "0.01", "--duplicate", "0.01", "--reorder", "0.01")
        file, digest = self.file(path, LARGE)
        path.put("/movies/a", file)
        got = path.get("/movies/a", self.got(path), timeout=1800)
        self.assertEqual(digest_of(self.got(path)), digest)
        self.assertGreater(got["retransmitted"], 0.01 * LARGE / SEGMENT, "the relay loses some")
        print(f"1 % lost, repeated, late: {got['goodput_bps'] / 1e6:.0f} Mb/s, {got['retransmitted']} sent again")

    def test_a_link_that_is_cut(self):
        path = self.path("--rate", "40e6", "--delay", "5")
        file, digest = self.file(path, 20_000_000)
        path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        time.sleep(2)
        path.cut(AWAY)
        mended = time.monotonic()
        got = statistics(finish(getting))
        self.assertEqual(digest_of(self.got(path)), digest)
        self.assertGreater(got["completion_s"], AWAY, "it was not done before")
        print(f"cut for {AWAY} s: done {time.monotonic() - mended:.1f} s after that")


class Restarts(OnAPath):
    """While a file is fetched at 40 Mb/s, for about four seconds, a process is killed and restarted."""

    def begin(self):
        path = self.path("--rate", "40e6", "--delay", "1")
        file, self.digest = self.file(path, 20_000_000)
        producer = path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        wait_for("a part", lambda: self.part(path).exists() and self.part(path).stat().st_size > 4_000_000)
        self.assertIsNone(getting.poll(), "it is not done yet")
        return path, file, producer, getting

    def end(self, path, getting):
        said = finish(getting)
        self.assertEqual(digest_of(self.got(path)), self.digest)
        return said

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
        path.restart("near", away=1)
        said = self.end(path, getting)
        self.assertRegex(said, r"the forwarder is gone; waiting for it\n(.*\n)*the forwarder is back\n")

    def goes_on(self, path):
        """The same command fetches only the rest."""
        self.assertFalse(self.got(path).exists(), "what is not whole has another name")
        got = path.get("/movies/a", self.got(path))
        self.assertEqual(digest_of(self.got(path)), self.digest)
        self.assertFalse(self.part(path).exists())
        self.assertEqual(got["resumed_bytes"] + got["delivered_bytes"], 20_000_000)
        return got["resumed_bytes"]

    def test_a_consumer_that_is_interrupted(self):
        path, _, _, getting = self.begin()
        getting.send_signal(signal.SIGINT)
        getting.wait(timeout=10)
        self.assertEqual(getting.returncode, 130)
        said = getting.path.read_text()
        self.assertIn("interrupted", said)
        self.assertIn(f"{self.part(path)} has the segments so far", said)
        had = self.part(path).stat().st_size
        self.assertEqual(self.goes_on(path), had)

    def test_a_consumer_that_is_killed(self):
        path, _, _, getting = self.begin()
        time.sleep(1)
        kill(getting)
        # The note is saved once a second.
        self.assertGreater(self.goes_on(path), 2_000_000)


class DeadNextHops(unittest.TestCase):
    """The cheapest next hop answers nothing, and another one answers."""

    CONFIG = """
[faces.udp]
listen = "127.0.0.1:0"
[faces.tcp]
listen = []
[scheme]
name = "{scheme}"
[tables]
content_store_packets = 0
[[face]]
name = "silent"
remote = "udp4://127.0.0.1:{silent}"
[[face]]
name = "peer"
remote = "udp4://127.0.0.1:{peer}"
[[route]]
prefix = "/there"
face = "silent"
cost = 1
[[route]]
prefix = "/there"
face = "peer"
cost = 10
[[strategy]]
prefix = "/"
strategy = "{strategy}"
"""
    SIZE = 40_000_000 if FULL else 4_000_000

    def pair(self, strategy):
        """A forwarder with both next hops, and the answering neighbour, which serves a file and pings."""
        lab = Lab()
        self.addCleanup(lab.close)
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent.close)
        silent.bind(("127.0.0.1", 0))
        port = free_port()
        scheme = strategy if strategy in ("pcon", "qsccp") else "fixed"
        config = self.CONFIG.format(
            scheme=scheme, strategy=strategy, silent=silent.getsockname()[1], peer=port
        )
        hosts = [lab.host(name, is_isolated=False) for name in ("near", "far")]
        near = hosts[0].weir(config)
        far = hosts[1].weir(FORWARDER.format(port=port, scheme="fixed", cached=0))
        file = lab.folder / "file"
        file.write_bytes(random.Random(1).randbytes(self.SIZE))
        to_far = ["--socket", far.unix, "--quiet"]
        hosts[1].start(weir_binary(), "put", "/there/file", file, *to_far)
        hosts[1].start(weir_binary(), "ping-server", "/there", *to_far)
        for name in ("/there/file", "/there/ping"):
            far.wait_route(name)
        return lab, hosts[0], near, file

    def check(self, strategy):
        lab, host, near, file = self.pair(strategy)
        ping = [weir_binary(), "ping", "/there", "--socket", near.unix, "--json"]
        # After a second of silence both next hops get the Interests, and the one that has not answered is avoided.
        learnt = json.loads(host.run(*ping, "-c", "12", "-i", "200ms"))
        pings = json.loads(host.run(*ping, "-c", "20", "-i", "100ms"))
        got = json.loads(
            host.run(
                weir_binary(), "get", "/there/file", "-o", lab.folder / "got", "--socket", near.unix, "--json"
            )
        )
        self.assertEqual(digest_of(lab.folder / "got"), digest_of(file))
        rate = got["goodput_bps"] / 1e6
        received = [what["received"] for what in (learnt, pings)]
        print(f"{strategy}: {received[0]} of 12 pings, then {received[1]} of 20; {rate:.0f} Mb/s")
        hops = {hop["remote"]: hop["silent"] for hop in near.command("route", "list", "/there", "--fib")}
        self.assertEqual(sorted(hops.values()), [False, strategy != "multicast"], hops)
        self.assertEqual(received[1], 20)
        self.assertGreater(rate, 5)

    def test_best_route(self):
        self.check("best-route")

    def test_asf(self):
        self.check("asf")

    def test_multicast(self):
        self.check("multicast")

    def test_pcon(self):
        self.check("pcon")

    def test_qsccp(self):
        self.check("qsccp")


class Spoiled(OnAPath):
    """A relay damages one segment of 126. The segments before it stay, and the command continues when the link is
    repaired."""

    SIZE = 1_000_001

    def spoil(self, how, segment, message, *options, sign=()):
        path = self.path("--spoil", how, "--segment", segment, "--rate", "20e6")
        file, digest = self.file(path, self.SIZE)
        if sign:
            options = ["--key", make_key(path, "/alice"), *options]
        path.put("/movies/a", file, *sign)
        said = path.get_fails("/movies/a", self.got(path), "--patience", "3s", *options)
        self.assertRegex(said, rf"segment {segment} of /movies/a/v=\d+ {message}")
        part = self.part(path).read_bytes()
        self.assertEqual(part, file.read_bytes()[: len(part)])
        self.assertGreater(len(part), 0)
        self.assertLessEqual(len(part), segment * SEGMENT)
        path.mend()
        # The forwarder's store has the damaged Data.
        path.near.command("cs", "erase", "/movies/a")
        got = path.get("/movies/a", self.got(path), *options)
        self.assertEqual(digest_of(self.got(path)), digest)
        self.assertEqual(got["resumed_bytes"], len(part))

    def test_a_segment_whose_content_is_not_that_of_its_digest(self):
        self.spoil("flip", 100, "cannot be trusted")

    def test_a_segment_whose_content_is_not_that_of_its_signature(self):
        self.spoil("flip", 100, "cannot be trusted", sign=["--key", "/alice"])

    def test_a_last_segment_that_is_cut_short(self):
        self.spoil("shorten", 125, "is missing")

    def test_a_segment_that_is_missing(self):
        self.spoil("drop", 60, "is missing")


def make_key(path, identity):
    """Creates a key at the far host. Returns the file of its certificate."""
    certificate = path.lab.folder / f"{identity[1:]}.cert"
    path.hosts[1].run(weir_binary(), "key", "new", identity)
    path.hosts[1].run(weir_binary(), "key", "export", identity, "-o", certificate)
    return certificate


class Honest(OnAPath):
    def nothing_is_had(self, signed, message):
        path = self.path()
        alice, bob = make_key(path, "/alice"), make_key(path, "/bob")
        file, _ = self.file(path, 1_000_000)
        path.put("/alice/a", file, *signed)
        for option in ("--key", "--anchor"):
            said = path.get_fails("/alice/a", self.got(path), option, bob)
            self.assertRegex(said, message)
            self.assertFalse(self.part(path).exists())
        if signed:
            for option in ("--key", "--anchor"):
                path.get("/alice/a", self.got(path), option, alice)
                self.assertEqual(self.got(path).read_bytes(), file.read_bytes())

    def test_what_another_key_has_signed_is_not_written(self):
        self.nothing_is_had(["--key", "/alice"], "cannot be trusted")

    def test_what_no_key_has_signed_is_not_written(self):
        self.nothing_is_had([], "cannot be trusted")

    def test_a_name_that_nobody_has(self):
        path = self.path()
        self.assertIn("there is no route to /movies/none", path.get_fails("/movies/none", self.got(path)))

    def test_a_file_that_is_cut_short_while_it_is_served_is_no_mix(self):
        path = self.path("--rate", "20e6")
        file, _ = self.file(path, 8_000_000)
        producer = path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path), "--patience", "3s")
        wait_for("a part", lambda: self.part(path).exists() and self.part(path).stat().st_size > 1_000_000)
        with file.open("r+b") as open_file:
            open_file.truncate(5_000_001)
        with self.assertRaisesRegex(Failed, r"ended with 2:\n.*segment \d+ of /movies/a/v=\d+ is missing"):
            finish(getting)
        self.assertFalse(self.got(path).exists())
        self.assertIn("changed", producer.path.read_text())
        # The same command fetches the current content from the beginning.
        got = path.get("/movies/a", self.got(path))
        self.assertEqual(digest_of(self.got(path)), digest_of(file))
        self.assertEqual(got["resumed_bytes"], 0)


class FullDisks(OnAPath):
    ON_A_SMALL_DISK = """
        mount -t tmpfs -o size=$1 disk disk || exit 99
        shift
        "$@"; echo "exit code $?"; ls disk
        mount -o remount,size=16m disk
        "$@"; echo "exit code $?"; sha256sum < disk/got
    """

    def resumes(self, size):
        """Fetches 4 MB on a disk of this size, and again on a larger one. Returns the messages of both, and the number
        of bytes with which the second began."""
        unshare = ["unshare", "--mount", "--map-root-user"]
        if not shutil.which("unshare") or subprocess.run([*unshare, "true"], capture_output=True).returncode:
            self.skipTest("no mount namespace of our own")
        path = self.path()
        file, digest = self.file(path, 4_000_000)
        path.put("/movies/a", file)
        (path.lab.folder / "disk").mkdir()
        get = [weir_binary(), "get", "/movies/a", "-o", "disk/got", "--socket", path.near.unix, "--json"]
        done = subprocess.run(
            [str(word) for word in [*unshare, "sh", "-c", self.ON_A_SMALL_DISK, "sh", size, *get]],
            cwd=path.lab.folder, capture_output=True, text=True, timeout=60,
        )
        first, then = done.stdout.split("{\n", 1)
        self.assertIn("exit code 2", first, done)
        self.assertRegex(done.stderr, r"^error: disk/got.part: No space left on device")
        self.assertIn("exit code 0", then)
        self.assertIn(digest, then)
        return first, done.stderr, json.loads("{" + then.split("exit code")[0])["resumed_bytes"]

    def test_a_full_disk_is_an_error_and_the_rest_comes_when_there_is_room(self):
        # This is exactly three times the size of a write, without room for the note.
        files, said, resumed = self.resumes("3m")
        self.assertIn("got.part.json", files)
        self.assertIn("disk/got.part has the segments so far", said)
        self.assertGreater(resumed, 1_000_000)

    def test_a_disk_without_room_for_anything_has_no_part(self):
        files, said, resumed = self.resumes("512k")
        self.assertNotIn("got", files)
        self.assertNotIn("has the segments so far", said)
        self.assertEqual(resumed, 0)

    def test_a_full_device_is_an_error(self):
        path = self.path()
        file, _ = self.file(path, 1_000_000)
        path.put("/movies/a", file)
        with self.assertRaisesRegex(Failed, r"ended with 2:\n(.*\n)*error: /dev/full: No space left on device"):
            path.get("/movies/a", "/dev/full")


if __name__ == "__main__":
    unittest.main(verbosity=2)


class DeadNextHop(OnAPath):
    """The cheaper of two next hops accepts everything and answers nothing."""

    def path_beside_a_dead_one(self, scheme):
        path = self.path(scheme=scheme)
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent.close)
        silent.bind(("127.0.0.1", 0))
        remote = f"udp4://127.0.0.1:{silent.getsockname()[1]}"
        path.near.command("route", "add", "/movies", remote, "--cost", 1)
        return path

    def test_it_is_left_within_seconds(self):
        for scheme in ("fixed", "pcon", "qsccp"):
            with self.subTest(scheme):
                path = self.path_beside_a_dead_one(scheme)
                file, digest = self.file(path, 4_000_000)
                path.put("/movies/a", file)
                got = path.get("/movies/a", self.got(path))
                self.assertEqual(digest_of(self.got(path)), digest)
                self.assertLess(got["completion_s"], 10)
                print(f"{scheme}: {got['completion_s']:.1f} s beside a dead next hop")
