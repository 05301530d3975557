"""`weir put`, fetched by other software."""

import hashlib
import json
import os
import unittest

from lab import NDND, NDNTS, Lab, needs_ndnd, needs_ndnts, weir_binary
from matrix import row

SIGNATURES = ("digest", "hmac", "ecdsa", "ed25519")
FILES = {"empty": b"", "one": os.urandom(8000), "film": os.urandom(300_000)}


def put(host, transport, *arguments, stdin=None):
    """Runs `weir put`. Returns when its content can be fetched."""
    return host.start(weir_binary(), "put", *arguments, transport=transport, stdin=stdin, say="is registered at")


def make_keys(host):
    for typ in SIGNATURES[1:]:
        host.run(weir_binary(), "key", "new", f"/{typ}", "--type", typ)


def publish_all(host, transport):
    """Publishes a file with each signature, one from standard input, and a folder. Returns the published contents by
    name."""
    film = host.folder / "film"
    film.write_bytes(FILES["film"])
    published = {}
    for sign in SIGNATURES:
        key = [] if sign == "digest" else ["--key", f"/{sign}"]
        put(host, transport, f"/{sign}/film", film, "--sign", sign, *key)
        published[f"/{sign}/film"] = FILES["film"]
    with film.open("rb") as stdin:
        put(host, transport, "/stdin/film", stdin=stdin)
    published["/stdin/film"] = FILES["film"]
    folder = host.folder / "folder" / "sub"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
        published[f"/folder/sub/{name}"] = content
    put(host, transport, "/folder", folder.parent, "--settle", "20ms")
    return published


class Consumers(unittest.TestCase):
    """Other consumers fetch what Weir publishes, through Weir's and ndnd's forwarder."""

    def through(self, forwarder):
        lab = Lab()
        self.addCleanup(lab.close)
        host = lab.host()
        make_keys(host)
        running = getattr(host, forwarder)()
        return host, running, publish_all(host, running.unix)

    def cat(self, forwarder):
        needs_ndnd()
        host, running, published = self.through(forwarder)
        for name, content in published.items():
            with self.subTest(name=name):
                got = host.run(NDND, "cat", name, transport=running.unix, text=False)
                self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(content).digest())

    def fetch(self, forwarder):
        needs_ndnts()
        host, running, published = self.through(forwarder)
        objects = [f"object:{name}" for name in published]
        said = host.run("node", NDNTS, "consume", running.unix, "tcp://127.0.0.1:6363", *objects)
        said = [json.loads(line) for line in said.splitlines()]
        self.assertEqual(len(said), 2 * len(objects))
        for each in said:
            with self.subTest(name=each["name"], scheme=each["scheme"]):
                content = published[each["name"].removeprefix("object:")]
                self.assertEqual(each.get("sha256"), hashlib.sha256(content).hexdigest(), each)

    @row("ndnd", "`cat` of Data from `weir put`: four types of signature, standard input, a folder; through Weir's forwarder")
    def test_ndnd_gets_it_by_our_forwarder(self):
        self.cat("weir")

    @row("ndnd", "`cat` of Data from `weir put`, through ndnd's forwarder")
    def test_ndnd_gets_it_by_its_forwarder(self):
        self.cat("ndnd_forwarder")

    @row("NDNts", "`fetch` of Data from `weir put`, RDR: four types of signature, standard input, a folder; through Weir's forwarder, over Unix and TCP")
    def test_ndnts_gets_it_by_our_forwarder(self):
        self.fetch("weir")

    @row("NDNts", "`fetch` of Data from `weir put`, through ndnd's forwarder")
    def test_ndnts_gets_it_by_ndnds_forwarder(self):
        needs_ndnd()
        self.fetch("ndnd_forwarder")


class Restarts(unittest.TestCase):
    @row("ndnd", "`cat` of a file from `weir put` that was killed and started again: the same version")
    def test_a_file_has_the_same_version_when_it_is_published_again(self):
        needs_ndnd()
        lab = Lab()
        self.addCleanup(lab.close)
        host = lab.host()
        weir = host.weir("[tables]\ncontent_store_packets = 0\n")
        film = host.folder / "film"
        film.write_bytes(FILES["film"])
        first = put(host, weir.unix, "/film", film)
        self.assertEqual(host.run(NDND, "cat", "/film", transport=weir.unix, text=False), FILES["film"])
        first.kill()
        first.wait()
        weir.wait_no_route("/film")
        again = put(host, weir.unix, "/film", film)
        self.assertEqual(again.path.read_text().split(":")[0], first.path.read_text().split(":")[0])
        self.assertEqual(host.run(NDND, "cat", "/film", transport=weir.unix, text=False), FILES["film"])
