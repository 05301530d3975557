"""Congestion marks set by Weir, and a scheme whose signals peers do not know."""

import asyncio
import json
import unittest
import urllib.request

from ndn.encoding import LpTypeNumber, parse_lp_packet_v2

import wire
from lab import NDNTS, Lab, needs_ndnd, needs_ndnts
from matrix import row
from service_class import name_class
from python_ndn import APIS, V2, connected, scheme
from test_ndnd import FILE, fetch, publish

CONTENT = b"x" * 1000
KINDS = ("unix", "tcp", "udp", "websocket")


class Marks(unittest.IsolatedAsyncioTestCase):
    """A face slower than a consumer on another host requests: more than 4 kB wait for it for over 10 ms."""

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.here, self.there = self.lab.host("weir"), self.lab.host()
        self.lab.link(self.here, self.there, "10.4.0")
        self.weir = self.here.weir(
            '[faces.tcp]\nlisten = "0.0.0.0:6363"\nrate = "2 Mb/s"\nqueue = 10000\n'
            # The other host is unknown: its classes are accepted only if the file says so.
            'trust = "all"\n'
            'marking_threshold = "4000 B"\nmarking_interval = "10 ms"\n'
            '[metrics]\nlisten = "10.4.0.1:9464"\n'
        )
        self.remote = "tcp://10.4.0.1:6363"

    @row("python-ndn", "Weir marks packets while a face's queue is long: the marks arrive", "yes; it ignores them")
    async def test_python_ndn_sees_marks(self):
        content = b"x" * 8000
        async with connected(V2(self.weir.unix)) as producer, connected(V2(self.remote)) as consumer:
            await producer.produce("/python", content)
            marks, receive = [], consumer.app.face.callback

            async def seen(typ, frame):
                if typ == LpTypeNumber.LP_PACKET:
                    marks.append(parse_lp_packet_v2(frame, with_tl=True).congestion_mark)
                await receive(typ, frame)

            consumer.app.face.callback = seen
            got = await asyncio.gather(*(consumer.get(wire.fresh_name("/python")) for _ in range(60)))
            self.assertEqual(set(got), {content})
        self.assertIn(1, marks)

    @row("python-ndn", "Interests with a service class (docs/reference/signals.md)")
    async def test_python_ndn_names_a_class(self):
        async with connected(V2(self.weir.unix)) as producer, connected(V2(self.remote)) as consumer:
            await producer.produce("/python", CONTENT)
            name_class(consumer.app, 2)
            self.assertEqual(await consumer.get(wire.fresh_name("/python")), CONTENT)
        with urllib.request.urlopen("http://10.4.0.1:9464/metrics") as metrics:
            self.assertRegex(metrics.read().decode(), r'weir_queue_delay_seconds_count\{class="EF"\} 1\b')

    @row(
        "NDNts",
        "Weir marks packets while a face's queue is long: the marks arrive",
        "yes, but `fetch` does not see them: NDNts's logical forwarder removes the mark from Data",
    )
    def test_ndnts_gets_marks(self):
        needs_ndnts()
        needs_ndnd()
        publish(self.here, self.weir.unix, "/marked")
        said = json.loads(self.there.run("node", NDNTS, "marks", self.remote, "/marked"))
        self.assertEqual(said["got"], len(FILE), said)
        self.assertGreaterEqual(said["marked"], 1, said)
        self.assertEqual(said["cuts"], 0, "it reacts now: the table may say so")


class Qsccp(unittest.IsolatedAsyncioTestCase):
    """Sends QSCCP's signals on every frame to peers that do not know them."""

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)

    @staticmethod
    def config(listen=""):
        rates = "".join(f'[faces.{kind}]\nrate = "100 Mb/s"\n{listen(kind)}' for kind in KINDS[1:])
        return f'rate = "100 Mb/s"\n{rates}[scheme]\nname = "qsccp"\n'

    @row("python-ndn", "through a forwarder that runs QSCCP, over Unix, TCP and UDP")
    async def test_python_ndn_through_qsccp(self):
        weir = self.lab.host().weir(self.config(lambda _: ""))
        uris = [weir.unix, "tcp://127.0.0.1:6363", "udp://127.0.0.1:6363"]
        for api in APIS:
            for uri in uris:
                async with connected(api(uri)) as producer, connected(api(uri)) as consumer:
                    prefix = f"/python/{api.label}/{scheme(uri)}"
                    await producer.produce(prefix, b"hello")
                    self.assertEqual(await consumer.get(wire.fresh_name(prefix)), b"hello")

    @row("NDNts", "through a forwarder that runs QSCCP, over Unix, TCP, UDP and WebSocket")
    def test_ndnts_through_qsccp(self):
        needs_ndnts()
        host = self.lab.host()
        weir = host.weir(self.config(lambda kind: 'listen = "127.0.0.1:9696"\n' if kind == "websocket" else ""))
        uris = [weir.unix, "tcp://127.0.0.1:6363", "udp://127.0.0.1:6363", "ws://127.0.0.1:9696"]
        host.start("node", NDNTS, "serve", *uris, say="serving")
        weir.wait_route("/ndnts/ws")
        said = host.run("node", NDNTS, "consume", *uris, "object:/ndnts/ws/object").splitlines()
        self.assertEqual([json.loads(line).get("got") for line in said], [100_000] * len(uris), said)

    @row("ndnd", "ndnd's forwarder as neighbour of one that runs QSCCP, over UDP: 300 kB each way")
    def test_ndnd_beside_qsccp(self):
        here, there = self.lab.host("weir"), self.lab.host("ndnd")
        self.lab.link(here, there, "10.4.0")
        weir = here.weir(self.config(lambda kind: 'listen = "0.0.0.0:6363"\nmtu = "1420 B"\n' if kind == "udp" else ""))
        ndnd = there.ndnd_forwarder()
        weir.command("route", "add", "/theirs", "udp4://10.4.0.2:6363")
        ndnd.command("route-add", "prefix=/ours", "face=udp4://10.4.0.1:6363")
        publish(there, ndnd.unix, "/theirs")
        publish(here, weir.unix, "/ours")
        self.assertEqual(fetch(here, weir.unix, "/theirs"), FILE)
        self.assertEqual(fetch(there, ndnd.unix, "/ours"), FILE)
        self.assertTrue(ndnd.is_running() and weir.is_running())
