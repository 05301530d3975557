"""python-ndn as producer, consumer and operator."""

import asyncio
import contextlib
import re
import unittest

from ndn.types import InterestNack

import wire
from lab import PYNFDC, Failed, Lab
from matrix import row
from python_ndn import APIS, V1, connected, scheme

CONTENT = bytes(range(256)) * 31  # 7936 bytes: one packet of almost the maximum size


class Applications(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.weir = cls.lab.host().weir()
        cls.uris = [cls.weir.unix, "tcp://127.0.0.1:6363", "udp://127.0.0.1:6363"]

    @row("python-ndn", "`NDNApp` and `appv2`, producer and consumer of 8 kB Data, in all pairs, over Unix, TCP and UDP")
    @row("python-ndn", "registration signed as a Command Interest (`NDNApp`) and as a Signed Interest (`appv2`)")
    async def test_everybody_gets_what_everybody_produces(self):
        async with contextlib.AsyncExitStack() as stack:
            produced = []
            for api in APIS:
                for uri in self.uris:
                    peer = await stack.enter_async_context(connected(api(uri)))
                    prefix = f"/python/{api.label}/{scheme(uri)}"
                    self.assertTrue(await peer.produce(prefix, CONTENT), prefix)
                    produced.append(prefix)
            for api in APIS:
                for uri in self.uris:
                    peer = await stack.enter_async_context(connected(api(uri)))
                    for prefix in produced:
                        with self.subTest(consumer=(api.label, uri), producer=prefix):
                            self.assertEqual(await peer.get(wire.fresh_name(prefix)), CONTENT)

    @row("python-ndn", "Nack: `InterestNack` with reason NoRoute")
    async def test_an_interest_without_a_route_is_a_nack_at_once(self):
        for api in APIS:
            for uri in self.uris:
                async with connected(api(uri)) as peer:
                    with self.subTest(api=api.label, uri=uri), self.assertRaises(InterestNack) as raised:
                        await peer.get("/nobody/is/here")
                    self.assertEqual(raised.exception.reason, wire.NO_ROUTE)

    @row("python-ndn", "`unregister`")
    async def test_a_prefix_that_is_unregistered_is_gone(self):
        for api in APIS:
            async with connected(api(self.uris[0])) as producer, connected(api(self.uris[1])) as consumer:
                prefix = f"/python/{api.label}/gone"
                await producer.produce(prefix, CONTENT)
                await consumer.get(wire.fresh_name(prefix))
                await producer.app.unregister(prefix)
                with self.assertRaises(InterestNack):
                    await consumer.get(wire.fresh_name(prefix))

    @row("python-ndn", "when an application disconnects, its routes are removed")
    async def test_what_has_left_is_no_next_hop(self):
        async with connected(V1(self.uris[0])) as consumer:
            async with connected(V1(self.uris[0])) as producer:
                await producer.produce("/python/left", CONTENT)
                await consumer.get(wire.fresh_name("/python/left"))
            # An Interest that arrives before the end of the connection is noticed is still sent to the old peer. So wait
            # until it is noticed.
            await asyncio.to_thread(self.weir.wait_no_route, "/python/left")
            with self.assertRaises(InterestNack):
                await consumer.get(wire.fresh_name("/python/left"))


class Pynfdc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.host = cls.lab.host()
        cls.weir = cls.host.weir()

    def pynfdc(self, *arguments):
        return self.host.run(PYNFDC, *arguments, transport=self.weir.unix)

    @row("python-ndn", "`pynfdc Get-Status`, `Get-Face`, `Get-Route`, `Get-Strategy`: signed queries")
    def test_datasets_are_shown(self):
        self.assertRegex(self.pynfdc("Get-Status"), r"version\s+weir \d")
        self.assertIn(str(self.weir.path), self.pynfdc("Get-Face"))
        self.assertIn("Remote URI\tinternal://", self.pynfdc("Get-Face", "1"))
        self.pynfdc("Get-Route")
        self.assertRegex(self.pynfdc("Get-Strategy"), r"/localhost/\S+/strategy")

    @row("python-ndn", "`pynfdc New-Route`, `Remove-Route`, `Remove-Face`")
    @row(
        "python-ndn",
        "`pynfdc New-Face`",
        "the face is created, but pynfdc cannot read the answer: it expects Flags at another place than NFD",
    )
    def test_faces_and_routes_are_made_and_removed(self):
        with self.assertRaisesRegex(Failed, "critical field of type 135"):
            self.pynfdc("New-Face", "udp4://127.0.0.1:7001")
        face = re.search(r"^(\d+)\s+udp4://127.0.0.1:7001", self.pynfdc("Get-Face"), re.MULTILINE)[1]
        self.assertRegex(self.pynfdc("New-Route", "/by/pynfdc", face), "^200")
        self.assertIn("/by/pynfdc", self.pynfdc("Get-Route"))
        self.assertRegex(self.pynfdc("Remove-Route", "/by/pynfdc", face), "^200")
        self.assertNotIn("/by/pynfdc", self.pynfdc("Get-Route"))
        self.assertRegex(self.pynfdc("Remove-Face", face), "200 OK")
        self.assertNotIn("7001", self.pynfdc("Get-Face"))

    @row("python-ndn", "`pynfdc Set-Strategy`, `Remove-Strategy`")
    def test_strategies_are_set_and_unset(self):
        self.assertRegex(self.pynfdc("Set-Strategy", "/by/pynfdc", "multicast"), "^200")
        self.assertRegex(self.pynfdc("Get-Strategy"), r"/by/pynfdc\s+\S*multicast")
        self.assertRegex(self.pynfdc("Remove-Strategy", "/by/pynfdc"), "^200")
        self.assertNotIn("/by/pynfdc", self.pynfdc("Get-Strategy"))


class Remote(unittest.TestCase):
    @row("python-ndn", "commands and queries from another host are rejected")
    def test_another_host_can_neither_ask_nor_command(self):
        lab = Lab()
        self.addCleanup(lab.close)
        here, there = lab.host("here"), lab.host("there")
        lab.link(here, there, "10.1.0")
        weir = here.weir('[faces.tcp]\nlisten = "0.0.0.0:6363"\n[faces.udp]\nlisten = "0.0.0.0:6363"\n')
        for scheme in ("tcp", "udp"):
            with self.assertRaises(Failed):
                there.run(PYNFDC, "Get-Status", transport=f"{scheme}://10.1.0.1:6363")
            with self.assertRaises(Failed):
                there.run(PYNFDC, "New-Route", "/hijacked", "1", transport=f"{scheme}://10.1.0.1:6363")
        self.assertEqual(weir.command("route"), [])
