"""ndnd's applications and management tools, and its forwarder as neighbour of Weir's."""

import os
import re
import unittest

import wire
from lab import NDND, Failed, Lab, needs_ndnd, wait_for
from matrix import row

FILE = os.urandom(300_000)


def publish(host, transport, prefix, content=FILE):
    """Runs `ndnd put` with this content. Returns when it can be fetched."""
    path = host.folder / "published"
    path.write_bytes(content)
    with path.open("rb") as stdin:
        host.start(NDND, "put", prefix, transport=transport, stdin=stdin, say="Registered route")


def fetch(host, transport, prefix):
    """`ndnd cat`."""
    return host.run(NDND, "cat", prefix, transport=transport, text=False)


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs_ndnd()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.host = cls.lab.host()
        cls.weir = cls.host.weir()
        cls.transports = [cls.weir.unix, "tcp://127.0.0.1:6363"]

    def fw(self, *arguments):
        return self.host.run(NDND, "fw", *arguments, transport=self.weir.unix)

    @row("ndnd", "applications over TCP that register under `/localhop`")
    @row("ndnd", "`put` and `cat` of 300 kB, in all pairs, over Unix and TCP")
    def test_a_file_is_put_and_fetched(self):
        for number, producer in enumerate(self.transports):
            prefix = f"/ndnd/file/{number}"
            publish(self.host, producer, prefix)
            for consumer in self.transports:
                with self.subTest(producer=producer, consumer=consumer):
                    self.assertEqual(fetch(self.host, consumer, prefix), FILE)

    @row("ndnd", "`pingserver` and `ping`, in all pairs, over Unix and TCP")
    def test_a_server_is_pinged(self):
        for number, producer in enumerate(self.transports):
            prefix = f"/ndnd/ping/{number}"
            self.host.start(NDND, "pingserver", prefix, transport=producer)
            self.weir.wait_route(prefix)
            for consumer in self.transports:
                said = self.host.run(NDND, "ping", prefix, "-c", "3", "-i", "10", transport=consumer)
                self.assertRegex(said, "3 interests transmitted, 3 received", said)

    @row("ndnd", "Nack: `ping` reports NoRoute")
    def test_a_ping_without_a_route_is_a_nack(self):
        try:
            said = self.host.run(NDND, "ping", "/ndnd/nobody", "-c", "1", "-i", "10", transport=self.weir.unix)
        except Failed as failed:
            said = str(failed)
        self.assertRegex(said, r"(?i)nack.*150")

    @row("ndnd", "`fw status`, `face-list`, `route-list`, `fib-list`, `cs-info`, `strategy-list`")
    def test_datasets_are_shown(self):
        self.assertIn("weir 0", self.fw("status"))
        self.assertIn(self.weir.unix, self.fw("face-list"))
        self.weir.command("route", "add", "/ndnd/shown", "udp4://127.0.0.1:7002")
        self.assertIn("/ndnd/shown", self.fw("route-list"))
        self.assertIn("/ndnd/shown", self.fw("fib-list"))
        self.assertRegex(self.fw("cs-info"), r"(?i)capacity=65536")
        self.assertIn("/localhost/weir/strategy", self.fw("strategy-list"))

    @row("ndnd", "`fw face-create`, `face-destroy`, `route-add` (also if it creates the face), `route-remove`")
    def test_faces_and_routes_are_made_and_removed(self):
        said = self.fw("face-create", "remote=udp4://127.0.0.1:7003")
        face = re.search(r"(?i)face-?id=(\d+)", said)[1]
        self.assertIn("udp4://127.0.0.1:7003", self.fw("face-list"))
        self.fw("route-add", "prefix=/ndnd/a", f"face={face}", "cost=5")
        self.fw("route-add", "prefix=/ndnd/b", "face=udp4://127.0.0.1:7004", "mtu=8800")
        routes = self.fw("route-list")
        self.assertRegex(routes, rf"/ndnd/a nexthop={face} .*cost=5")
        self.assertIn("/ndnd/b", routes)
        self.assertIn("7004", self.fw("face-list"))
        self.fw("route-remove", "prefix=/ndnd/a", f"face={face}")
        self.assertNotIn("/ndnd/a", self.fw("route-list"))
        self.fw("face-destroy", f"face={face}")
        self.assertNotIn("7003", self.fw("face-list"))

    @row("ndnd", "`fw strategy-set`, `strategy-unset`")
    def test_strategies_are_set_and_unset(self):
        self.fw("strategy-set", "prefix=/ndnd/s", "strategy=/localhost/nfd/strategy/multicast/v=1")
        self.assertRegex(self.fw("strategy-list"), r"/ndnd/s\s.*multicast")
        self.fw("strategy-unset", "prefix=/ndnd/s")
        self.assertNotIn("/ndnd/s", self.fw("strategy-list"))


class Neighbour(unittest.TestCase):
    """Weir's and ndnd's forwarder on a cable. Frames on UDP have at most 1420 bytes."""

    @classmethod
    def setUpClass(cls):
        needs_ndnd()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.here, cls.there = cls.lab.host("weir"), cls.lab.host("ndnd")
        cls.lab.link(cls.here, cls.there, "10.2.0")
        cls.weir = cls.here.weir(
            '[faces.udp]\nlisten = "0.0.0.0:6363"\nmtu = "1420 B"\n[faces.tcp]\nlisten = "0.0.0.0:6363"\n'
        )
        cls.ndnd = cls.there.ndnd_forwarder()

    def counter(self, remote, key):
        """A counter of Weir's face to this end, or the sum over several faces."""
        return sum(face[key] for face in self.weir.command("face") if face["remote"].startswith(remote))

    def both_ways(self, scheme):
        """Transfers a file in each direction, over faces that each side creates to the other."""
        ours, theirs = f"/{scheme}/ours", f"/{scheme}/theirs"
        self.weir.command("route", "add", theirs, f"{scheme}4://10.2.0.2:6363")
        self.ndnd.command("route-add", f"prefix={ours}", f"face={scheme}4://10.2.0.1:6363")
        publish(self.there, self.ndnd.unix, theirs)
        publish(self.here, self.weir.unix, ours)
        self.assertEqual(fetch(self.here, self.weir.unix, theirs), FILE)
        self.assertEqual(fetch(self.there, self.ndnd.unix, ours), FILE)
        self.assertTrue(self.ndnd.is_running() and self.weir.is_running())

    @row("ndnd", "ndnd's forwarder as neighbour over UDP: 300 kB each way, in NDNLPv2 fragments of 1420 B both ways")
    def test_a_file_each_way_over_udp_in_fragments(self):
        self.both_ways("udp")
        self.assertEqual(self.counter("udp4://10.2.0.2", "mtu"), 1420)
        self.assertEqual(self.counter("udp4://10.2.0.2", "in_malformed"), 0)

    @row("ndnd", "ndnd's forwarder as neighbour over TCP: 300 kB each way")
    def test_a_file_each_way_over_tcp(self):
        self.both_ways("tcp")

    @row("ndnd", "PIT tokens of 4 B from Weir's clients: Weir returns them, and does not send them to ndnd, which stops if a token has not 6 B")
    def test_a_short_pit_token_does_not_reach_ndnd(self):
        self.weir.command("route", "add", "/token", "udp4://10.2.0.2:6363")
        self.there.start(NDND, "pingserver", "/token", transport=self.ndnd.unix)
        wait_for("a route of ndnd for /token", lambda: "/token" in self.ndnd.command("route-list"))
        with wire.Client.unix(self.weir.path) as client:
            answer = client.ask(wire.lp(wire.interest("/token/ping/1"), (wire.PIT_TOKEN, b"four")))
        self.assertEqual((answer.kind, answer.fields.get(wire.PIT_TOKEN)), ("Data", b"four"))
        self.assertTrue(self.ndnd.is_running())

    @row("ndnd", "congestion marks: each forwarder forwards the marks that it gets from the other")
    def test_marks_pass_through_both_forwarders(self):
        self.weir.command("route", "add", "/mark/theirs", "udp4://10.2.0.2:6363")
        self.ndnd.command("route-add", "prefix=/mark/ours", "face=udp4://10.2.0.1:6363")
        ends = [(self.ndnd, self.weir, "/mark/theirs"), (self.weir, self.ndnd, "/mark/ours")]
        for producing, consuming, prefix in ends:
            with wire.Client.unix(producing.path) as producer, wire.Client.unix(consuming.path) as consumer:
                producer.register(prefix)
                consumer.send(wire.lp(wire.interest(wire.fresh_name(prefix)), (wire.CONGESTION_MARK, b"\1")))
                asked = producer.receive()
                self.assertEqual((asked.kind, asked.mark), ("Interest", 1), prefix)
                token = [(wire.PIT_TOKEN, asked.fields[wire.PIT_TOKEN])] if wire.PIT_TOKEN in asked.fields else []
                producer.send(wire.lp(wire.data(asked.name), *token, (wire.CONGESTION_MARK, b"\1")))
                answer = consumer.receive()
                self.assertEqual((answer.kind, answer.mark), ("Data", 1), prefix)

    @row("ndnd", "a loop through both forwarders ends: Weir does not forward the Interest again when it comes back")
    def test_a_loop_ends(self):
        self.weir.command("route", "add", "/loop", "udp4://10.2.0.2:6363")
        self.ndnd.command("route-add", "prefix=/loop", "face=tcp4://10.2.0.1:6363")
        before = self.counter("udp4://10.2.0.2", "out_interests")
        with wire.Client.unix(self.weir.path) as client:
            client.ask(wire.interest("/loop/x", lifetime=500), timeout=1)
        self.assertEqual(self.counter("udp4://10.2.0.2", "out_interests") - before, 1)
        self.assertGreaterEqual(self.counter("tcp4://10.2.0.2", "out_nacks"), 1)
        self.assertTrue(self.ndnd.is_running())
