"""NDNts as producer, consumer and operator."""

import json
import unittest

import wire
from lab import NDND, NDNTS, Lab, needs_ndnd, needs_ndnts
from matrix import row
from python_ndn import V1, V2, connected

SCHEMES = ("unix", "tcp", "udp", "ws")
OBJECT = 100_000  # peer.mjs: bytes of each object


class Applications(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        needs_ndnts()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.host = cls.lab.host()
        cls.weir = cls.host.weir('[faces.websocket]\nlisten = "127.0.0.1:9696"\n')
        cls.uris = [cls.weir.unix, "tcp://127.0.0.1:6363", "udp://127.0.0.1:6363", "ws://127.0.0.1:9696"]
        cls.host.start("node", NDNTS, "serve", *cls.uris, say="serving")
        for scheme in SCHEMES:
            cls.weir.wait_route(f"/ndnts/{scheme}")

    def peer(self, verb, *arguments):
        """The output of the peer, as lines."""
        said = self.host.run("node", NDNTS, verb, *self.uris, *arguments)
        return [json.loads(line) for line in said.splitlines()]

    @row("NDNts", "`produce` and `consume`, `serve` and `fetch` of 100 kB, RDR, in all pairs, over Unix, TCP, UDP and WebSocket")
    @row("NDNts", "registration with `enableNfdPrefixReg`, over Unix, TCP, UDP and WebSocket")
    def test_everybody_gets_what_everybody_produces(self):
        names = [f"/ndnts/{scheme}/hello" for scheme in SCHEMES]
        objects = [f"object:/ndnts/{scheme}/object" for scheme in SCHEMES]
        said = self.peer("consume", *names, *objects)
        self.assertEqual(len(said), len(self.uris) * 2 * len(SCHEMES))
        for each in said:
            with self.subTest(consumer=each["scheme"], name=each["name"]):
                is_object = each["name"] in objects
                self.assertEqual(each.get("got"), OBJECT if is_object else "hello from NDNts", each)

    @row("NDNts", "datasets: general, channels, faces, routes, strategies, content store; `faces/create`")
    def test_datasets_are_understood(self):
        said = self.peer("status")
        self.assertEqual(len(said), len(self.uris) * 7)
        for each in said:
            with self.subTest(scheme=each["scheme"], what=each.get("dataset", each.get("command"))):
                if "command" in each:
                    # The user is known only on the Unix socket. Others may not create faces.
                    self.assertEqual(each["statusCode"], 200 if each["scheme"] == "unix" else 403)
                else:
                    self.assertNotIn("error", each)
        by_name = {each["dataset"]: each["got"] for each in said if "dataset" in each}
        self.assertRegex(by_name["GeneralStatus"][0]["nfdVersion"], "^weir ")
        self.assertGreaterEqual(len(by_name["FaceStatus"]), 1 + len(SCHEMES))
        self.assertIn("/8=ndnts/8=unix", [route["name"] for route in by_name["RibEntry"]])

    @row("NDNts", "NDNts as producer for consumers of python-ndn and ndnd; as consumer of files from ndnd")
    async def test_others_get_what_it_produces_and_it_gets_theirs(self):
        for api in (V1, V2):
            async with connected(api(self.weir.unix)) as peer:
                for scheme in SCHEMES:
                    got = await peer.get(wire.fresh_name(f"/ndnts/{scheme}/hello"))
                    self.assertEqual(got, b"hello from NDNts")
        needs_ndnd()
        got = self.host.run(NDND, "cat", "/ndnts/ws/object", transport=self.weir.unix, text=False)
        self.assertEqual(got, bytes(at % 251 for at in range(OBJECT)))
        file = self.host.folder / "file"
        file.write_bytes(got)
        with file.open("rb") as stdin:
            self.host.start(NDND, "put", "/ndnd/file", transport=self.weir.unix, stdin=stdin, say="Registered")
        for each in self.peer("consume", "object:/ndnd/file"):
            self.assertEqual(each.get("got"), OBJECT, each)

    @row("NDNts", "Nack", "not shown: `consume` ignores Nacks, and stops when the Interest's lifetime ends")
    def test_a_nack_is_ignored(self):
        for each in self.peer("consume", "/nobody/is/here"):
            self.assertIn("expire", each["error"])
