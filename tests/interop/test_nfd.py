"""NFD and its tools. WEIR_NFD names the folder with their programs, because no package registry has them."""

import os
import pathlib
import socket
import unittest

import wire
from lab import Lab, can_connect, wait_for, weir_binary
from matrix import row

# The releases of NFD and ndn-tools whose tests have passed, with ndn-cxx 0.9.0.
TRIED = "24.07"
PROGRAMS = os.environ.get("WEIR_NFD")
CONFIG = """
general {{ }}
log {{ default_level INFO }}
tables
{{
  cs_max_packets 100
  strategy_choice {{ / /localhost/nfd/strategy/best-route }}
  network_region {{ /region }}
}}
face_system
{{
  unix {{ path {path} }}
  udp {{ listen yes port 6363 mcast no }}
}}
authorizations
{{
  authorize
  {{
    certfile any
    privileges {{ faces fib cs strategy-choice }}
  }}
}}
rib {{ localhost_security {{ trust-anchor {{ type any }} }} }}
"""


FILE = os.urandom(1_000_000)
# Addresses of the hosts of NFD and of Weir.
OF_NFD, OF_WEIR = "10.4.0.1", "10.4.0.2"


def program(name):
    """Returns the path of a program of NFD. Skips the test if it does not exist."""
    path = pathlib.Path(PROGRAMS or "") / name
    if not PROGRAMS or not path.exists():
        raise unittest.SkipTest(f"WEIR_NFD names no folder with {name}")
    return path


def start_nfd(host):
    """Starts NFD. Returns the address of its Unix socket."""
    path, config = host.folder / "nfd.sock", host.folder / "nfd.conf"
    config.write_text(CONFIG.format(path=path))
    host.start(program("nfd"), "--config", config)
    wait_for("the socket of nfd", lambda: path.exists() and can_connect(path))
    return f"unix://{path}"


class Tools(unittest.TestCase):
    """Runs Weir's commands on NFD, and NFD's commands on Weir."""

    def setUp(self):
        self.nfdc = program("nfdc")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.host = self.lab.host()

    @row("NFD", "`weir face create`, `update`, `destroy` manage NFD")
    def test_a_face_that_was_just_made_is_found_changed_and_removed(self):
        unix = start_nfd(self.host)
        weir = lambda *words: self.host.run(weir_binary(), *words, "--socket", unix)  # noqa: E731
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind(("127.0.0.1", 0))
            uri = f"udp4://127.0.0.1:{peer.getsockname()[1]}"
            # The list is at most a second old. This request fills the content store with a list without the face.
            weir("face")
            weir("face", "create", uri)
            weir("face", "update", uri, "--persistency", "permanent")
            weir("face", "destroy", uri)

    @row("NFD", "`nfdc face`, `route`, `strategy` manage Weir")
    def test_nfdc_manages_weir(self):
        weir = self.host.weir()
        nfdc = lambda *words: self.host.run(self.nfdc, *words, transport=weir.unix)  # noqa: E731
        nfdc("face", "create", "udp4://127.0.0.1:7000")
        self.assertIn("udp4://127.0.0.1:7000", nfdc("face", "list"))
        nfdc("route", "add", "/example", "udp4://127.0.0.1:7000")
        self.assertIn("/example", nfdc("route", "list"))
        asf = "/localhost/nfd/strategy/asf/v=5/probing-interval~30000"
        nfdc("strategy", "set", "/example", asf)
        self.assertIn(asf, nfdc("strategy", "list"))


class Neighbours(unittest.TestCase):
    """NFD and Weir on two hosts, with a UDP link whose MTU is 1500."""

    def setUp(self):
        program("nfd")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        tag = os.getpid() % 10_000
        self.nfd_host, self.weir_host = self.lab.host(f"n{tag}"), self.lab.host(f"w{tag}")
        self.lab.link(self.nfd_host, self.weir_host, "10.4.0")
        self.nfd = start_nfd(self.nfd_host)

    def start_weir(self, prefix):
        """Starts Weir with a route for this prefix to NFD."""
        remote = f"udp4://{OF_NFD}:6363"
        face, route = f'[[face]]\nname = "nfd"\nremote = "{remote}"', f'[[route]]\nprefix = "{prefix}"\nface = "nfd"'
        self.weir = self.weir_host.weir(f'[faces.udp]\nlisten = "{OF_WEIR}:6363"\n{face}\n{route}\n')

    def nfdc(self, *words):
        return self.nfd_host.run(program("nfdc"), *words, transport=self.nfd)

    def route_of_nfd(self, prefix):
        """Adds a route of NFD to Weir."""
        remote = f"udp4://{OF_WEIR}:6363"
        self.nfdc("face", "create", remote)
        self.nfdc("route", "add", prefix, remote)

    def put_at_weir(self, name):
        file = self.weir_host.folder / "content"
        file.write_bytes(FILE)
        self.weir_host.start(weir_binary(), "put", name, file, "--socket", self.weir.unix, "--quiet")
        self.weir.wait_route(name)

    def put_at_nfd(self, name):
        """Runs `ndnputchunks` with segments as long as those of `weir put`."""
        file = self.nfd_host.folder / "content"
        file.write_bytes(FILE)
        with file.open("rb") as stdin:
            self.nfd_host.start(program("ndnputchunks"), "-s", "8000", name, transport=self.nfd, stdin=stdin)
        wait_for("the prefix", lambda: name in self.nfdc("route", "list"))

    def fragmented(self, host):
        """Number of datagrams that IP has fragmented on this host (proc(5), /proc/net/snmp)."""
        keys, values = [line.split()[1:] for line in host.run("cat", "/proc/net/snmp").splitlines() if line[:3] == "Ip:"]
        return int(dict(zip(keys, values))["FragOKs"])

    @row("NFD", "`ndncatchunks` over NFD fetches 1 MB of `weir put` in segments of 8000 B; UDP, MTU 1500, no IP fragments of Weir")
    def test_a_file_of_weir_comes_to_nfd_without_ip_fragments(self):
        self.start_weir("/nowhere")
        self.route_of_nfd("/movies")
        self.put_at_weir("/movies/a")
        came = self.nfd_host.run(program("ndncatchunks"), "-q", "/movies/a", transport=self.nfd, text=False)
        self.assertEqual(came, FILE)
        self.assertEqual(self.fragmented(self.weir_host), 0)

    @row("NFD", "`weir get` (`bbr`, `cubic`, `qsccp`, `sluice`) over Weir fetches 1 MB of `ndnputchunks` over NFD; UDP, MTU 1500, IP fragments of NFD")
    def test_a_file_of_nfd_comes_to_weir(self):
        self.start_weir("/movies")
        self.put_at_nfd("/movies/b")
        for scheme in ("bbr", "cubic", "qsccp", "sluice"):
            with self.subTest(scheme):
                to = self.weir_host.folder / scheme
                get = [weir_binary(), "get", "/movies/b", "-o", to, "--scheme", scheme, "--socket", self.weir.unix]
                self.weir_host.run(*get)
                self.assertEqual(to.read_bytes(), FILE)

    @row("NFD", "`weir put` and `weir get` (`bbr`, `qsccp`, `sluice`) over NFD alone")
    def test_weirs_applications_work_over_nfd_alone(self):
        file, to = self.nfd_host.folder / "content", self.nfd_host.folder / "came"
        file.write_bytes(FILE)
        self.nfd_host.start(weir_binary(), "put", "/movies/c", file, "--socket", self.nfd, "--quiet")
        wait_for("the prefix", lambda: "/movies/c" in self.nfdc("route", "list"))
        for scheme in ("bbr", "qsccp", "sluice"):
            with self.subTest(scheme):
                get = [weir_binary(), "get", "/movies/c", "-o", to, "--scheme", scheme, "--socket", self.nfd]
                self.nfd_host.run(*get)
                self.assertEqual(to.read_bytes(), FILE)
                to.unlink()

    @row("NFD", "`weir ping` and `ndnpingserver`, `ndnping` and `weir ping-server`, over UDP")
    def test_a_server_of_either_is_pinged_by_the_other(self):
        self.start_weir("/of/nfd")
        self.route_of_nfd("/of/weir")
        self.nfd_host.start(program("ndnpingserver"), "/of/nfd", transport=self.nfd)
        wait_for("the prefix", lambda: "/of/nfd" in self.nfdc("route", "list"))
        self.weir_host.start(weir_binary(), "ping-server", "/of/weir", "--socket", self.weir.unix)
        self.weir.wait_route("/of/weir/ping")
        said = self.weir.command("ping", "/of/nfd", "-c", "5", "-i", "50ms")
        self.assertEqual(said["received"], 5, said)
        said = self.nfd_host.run(program("ndnping"), "-c", "5", "-i", "50", "/of/weir", transport=self.nfd)
        self.assertIn("5 packets transmitted, 5 received", said)

    @row("NFD", "an Interest with a forwarding hint to the region of NFD, which answers with a Nack without the hint")
    def test_a_nack_without_the_hint_that_was_sent_is_a_nack(self):
        """NFD in the region of a hint removes it, and its Nack contains the Interest without the hint."""
        self.start_weir("/region")
        with wire.Client.unix(self.weir.path) as client:
            answer = client.ask(wire.interest("/nobody/has/this", forwarding_hint=["/region"]))
        self.assertEqual((answer.kind, answer.nack_reason), ("Nack", wire.NO_ROUTE))

    @row("NFD", "Data that a forwarding hint to the region of NFD asks for")
    def test_data_that_a_hint_asks_for_come(self):
        self.start_weir("/region")
        self.nfd_host.start(program("ndnpingserver"), "/far", transport=self.nfd)
        wait_for("the prefix", lambda: "/far" in self.nfdc("route", "list"))
        with wire.Client.unix(self.weir.path) as client:
            self.assertEqual(client.ask(wire.interest("/far/ping/1", forwarding_hint=["/region"])).kind, "Data")
            self.assertEqual(client.ask(wire.interest("/far/ping/2")).kind, "Nack", "no route without the hint")
