"""`weir get` of content published by ndnd and NDNts, through Weir's and ndnd's forwarder."""

import unittest

from lab import NDND, NDNTS, Failed, Lab, needs_ndnd, needs_ndnts, wait_for, weir_binary
from matrix import row
from test_ndnd import FILE, publish
from test_ndnts import OBJECT


OBJECT_OF_NDNTS = bytes(at % 251 for at in range(OBJECT))


def get(host, socket, name, *options):
    """Returns the output of `weir get`."""
    return host.run(weir_binary(), "get", name, "--socket", socket, *options, text=False)


class OurForwarder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.host = cls.lab.host()
        cls.weir = cls.host.weir('[faces.websocket]\nlisten = "127.0.0.1:9696"\n')
        cls.sockets = [cls.weir.unix, "tcp://127.0.0.1:6363"]

    @row("ndnd", "`weir get` of Data from `put`, found by its metadata, over Unix and TCP")
    def test_a_file_of_ndnd(self):
        needs_ndnd()
        publish(self.host, self.weir.unix, "/get/ndnd")
        for socket in self.sockets:
            with self.subTest(socket=socket):
                self.assertEqual(get(self.host, socket, "/get/ndnd"), FILE)

    @row("ndnd", "`weir get` of Data that nobody publishes: the error says so")
    def test_a_name_that_nobody_has(self):
        with self.assertRaisesRegex(Failed, "there is no route to /get/nobody"):
            get(self.host, self.weir.unix, "/get/nobody")

    @row("NDNts", "`weir get` of Data from `serve`")
    def test_an_object_of_ndnts(self):
        needs_ndnts()
        self.host.start("node", NDNTS, "serve", self.weir.unix, say="serving")
        self.weir.wait_route("/ndnts/unix")
        for socket in self.sockets:
            with self.subTest(socket=socket):
                self.assertEqual(get(self.host, socket, "/ndnts/unix/object"), OBJECT_OF_NDNTS)


class TheirForwarder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs_ndnd()
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        # It has its own namespace, because ndnd's forwarder listens on all addresses.
        cls.host = cls.lab.host("ndnd")
        cls.ndnd = cls.host.ndnd_forwarder()

    @row("ndnd", "`weir get` through ndnd's forwarder, with every scheme")
    def test_a_file_through_it_with_every_scheme(self):
        publish(self.host, self.ndnd.unix, "/get/file")
        for scheme in ["bbr", "cubic", "reno", "bic", "qsccp", "sluice", "pcon", "mircc", "omcc-rf", "e2e-aqm", "tcp-newreno", "fixed"]:
            with self.subTest(scheme=scheme):
                self.assertEqual(get(self.host, self.ndnd.unix, "/get/file", "--scheme", scheme), FILE)
        self.assertTrue(self.ndnd.is_running())

    @row("NDNts", "`weir get` of Data from `serve`, through ndnd's forwarder, over Unix and TCP")
    def test_an_object_of_ndnts_through_it(self):
        needs_ndnts()
        self.host.start("node", NDNTS, "serve", self.ndnd.unix, say="serving")
        wait_for("the route of NDNts", lambda: "/ndnts/unix" in self.ndnd.command("route-list"))
        for socket in [self.ndnd.unix, "tcp://127.0.0.1:6363"]:
            with self.subTest(socket=socket):
                self.assertEqual(get(self.host, socket, "/ndnts/unix/object"), OBJECT_OF_NDNTS)


class TheirForwarderBetweenOurs(unittest.TestCase):
    """ndnd's forwarder between two that run Sluice and have no rate. It does not forward fields that it does not know."""

    @row("ndnd", "ndnd's forwarder between two of Weir that run Sluice, over UDP: `weir get` (`sluice`, `bbr`)")
    def test_a_file_under_sluice(self):
        needs_ndnd()
        lab = Lab()
        self.addCleanup(lab.close)
        near, middle, far = (lab.host(name) for name in ("near", "ndnd", "far"))
        lab.link(near, middle, "10.4.0")
        lab.link(middle, far, "10.4.1")
        config = '[faces.udp]\nlisten = "0.0.0.0:6363"\nmtu = "1420 B"\n[scheme]\nname = "sluice"\n'
        ours = [near.weir(config), far.weir(config)]
        ndnd = middle.ndnd_forwarder()
        ours[0].command("route", "add", "/far", "udp4://10.4.0.2:6363")
        ndnd.command("route-add", "prefix=/far", "face=udp4://10.4.1.2:6363")
        publish(far, ours[1].unix, "/far")
        for scheme in ("sluice", "bbr"):
            with self.subTest(scheme=scheme):
                self.assertEqual(get(near, ours[0].unix, "/far", "--scheme", scheme), FILE)
        self.assertTrue(ndnd.is_running() and all(weir.is_running() for weir in ours))


if __name__ == "__main__":
    unittest.main()
