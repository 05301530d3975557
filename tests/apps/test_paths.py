"""Files over paths with Ethernet's MTU: between network namespaces, over a cable that has a low rate, a long delay and
losses."""

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import unittest

from path import FULL, HERE, Lab, Path, OnAPath, digest_of, finish, statistics, wait_for

CONFIG = """
[faces.udp]
listen = "{here}:6363"
{asked}
[faces.tcp]
listen = []
[scheme]
name = "fixed"
[tables]
content_store_packets = 0
"""

ROUTE = """
[[face]]
name = "peer"
remote = "udp4://{there}:6363"
[[route]]
prefix = "/"
face = "peer"
cost = 10
"""

NEAR, FAR = "10.9.0.1", "10.9.0.2"
# A second address of the far host.
FAR_TOO = "10.9.0.3"
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17


class NamespacePath(Path):
    """Forwarders in two namespaces, and between them a cable with this MTU and the options of cable.py. `asked` is
    text about UDP faces for the forwarders' files. `far` is the address of the far one, on which it listens unless
    `far_listens` says otherwise. Each of `far_routing` is a command of ip(8) at the far host."""

    def __init__(self, *cable, mtu=1500, asked="", far=FAR, far_listens=None, far_routing=()):
        self.lab = Lab()
        tag = os.getpid() % 10_000
        names = [f"near{tag}", f"far{tag}", f"mid{tag}"]
        self.hosts = [self.lab.host(name) for name in names[:2]]
        self.middle = middle = self.lab.host(names[2])
        self.ends = []
        for host, address in zip(self.hosts, (NEAR, FAR)):
            end, other = f"e-{host.label}", f"m-{host.label}"
            host.ip("link", "add", end, "mtu", str(mtu), "type", "veth", "peer", "name", other, "mtu", str(mtu))
            host.ip("link", "set", other, "netns", middle.namespace)
            host.ip("address", "add", f"{address}/24", "dev", end)
            # The interfaces send what a real cable carries: one packet per frame, with its checksum.
            host.ip("link", "set", end, "gso_max_segs", "1")
            subprocess.run(
                ["ip", "netns", "exec", host.namespace, sys.executable, HERE / "test_paths.py", end], check=True
            )
            host.ip("link", "set", end, "up")
            middle.ip("link", "set", other, "up")
            self.ends.append(end)
        middle.start(sys.executable, HERE / "cable.py", *(f"m-{host.label}" for host in self.hosts), *cable, say="ready")
        self.hosts[1].ip("address", "add", f"{FAR_TOO}/24", "dev", self.ends[1])
        for command in far_routing:
            self.hosts[1].ip(*command.format(dev=self.ends[1]).split())
        configs = [CONFIG.format(here=here, asked=asked) for here in (NEAR, far_listens or far)]
        configs[0] += ROUTE.format(there=far)
        self.near, self.far = (host.weir(config) for host, config in zip(self.hosts, configs))

    def set_mtu(self, mtu):
        for host, end in zip(self.hosts, self.ends):
            host.ip("link", "set", end, "mtu", str(mtu))

    def forge_narrow_path(self, mtu):
        """Tells the far host that a router on the path to the near one carries no more than this (RFC 1191). Anybody
        who knows both addresses can do this."""
        far = self.hosts[1]
        lost = ip_header(FAR, NEAR, socket.IPPROTO_UDP, 1500 - 20) + struct.pack("!HHHH", 6363, 6363, 1480, 0)
        message = with_checksum(struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + lost, 2)
        packet = ip_header(NEAR, FAR, socket.IPPROTO_ICMP, len(message)) + message
        link = json.loads(far.run("ip", "-j", "link", "show", "dev", self.ends[1]))[0]
        frame = bytes.fromhex(link["address"].replace(":", "")) + bytes(6) + b"\x08\x00" + packet
        self.middle.run(sys.executable, HERE / "test_paths.py", f"m-{far.label}", frame.hex())

    def ip_counters(self, host):
        """IP's counters in the namespace of a host (proc(5), /proc/net/snmp)."""
        keys, values = (
            line.split()[1:]
            for line in host.run("cat", "/proc/net/snmp").splitlines()
            if line.startswith("Ip:")
        )
        return dict(zip(keys, map(int, values)))


# Sends a frame from a port to an address, and prints whether there was an answer.
ASK = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
sock.bind(("", int(sys.argv[1])))
sock.settimeout(1)
sock.sendto(bytes.fromhex(sys.argv[3]), (sys.argv[2], 6363))
try:
    sock.recv(9000)
    print("answered")
except TimeoutError:
    print("silent")
"""


def without_offload(interface):
    """Makes the host compute the checksums of packets sent on an interface (ETHTOOL_STXCSUM)."""
    value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(value)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, request)


def with_checksum(header, at):
    """Inserts the Internet checksum (RFC 1071) into a header."""
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return header[:at] + struct.pack("!H", ~total & 0xFFFF) + header[at + 2 :]


def ip_header(source, to, protocol, length):
    addresses = socket.inet_aton(source) + socket.inet_aton(to)
    return with_checksum(struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0x4000, 64, protocol, 0) + addresses, 10)


def send_frame(interface, frame):
    """Sends an Ethernet frame on an interface."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((interface, 0))
        sock.send(frame)


def may_make_namespaces():
    done = subprocess.run("ip netns add weir-probe && ip netns delete weir-probe", shell=True, capture_output=True)
    return done.returncode == 0


@unittest.skipUnless(may_make_namespaces(), "no network namespaces: it needs to be root")
class EthernetPaths(OnAPath):
    def path(self, *cable, **options):
        path = NamespacePath(*cable, **options)
        self.addCleanup(path.close)
        return path

    def mtu(self, path, weir=None):
        weir = weir or path.near
        return next(face["mtu"] for face in weir.command("face") if face["remote"].startswith("udp4"))

    def fetch(self, path, size):
        """Fetches a file of `size` bytes."""
        file, digest = self.file(path, size)
        path.put("/movies/a", file)
        path.get("/movies/a", self.got(path), timeout=30)
        self.assertEqual(digest_of(self.got(path)), digest)

    def no_fragments(self, path):
        for host in path.hosts:
            counters = path.ip_counters(host)
            self.assertEqual((counters["FragCreates"], counters["ReasmReqds"]), (0, 0), host.label)

    def rate(self, delay, loss, size):
        path = self.path("--rate", "100e6", "--delay", delay / 2, "--loss", loss)
        file, digest = self.file(path, size)
        path.put("/movies/a", file)
        got = path.get("/movies/a", self.got(path), timeout=60)
        self.assertEqual(digest_of(self.got(path)), digest)
        rate = got["goodput_bps"] / 1e6
        print(f"100 Mb/s, {delay} ms, {100 * loss:g} % loss: {rate:.1f} Mb/s, {got['retransmitted']} sent again")
        return path, rate

    def test_a_lossy_path_has_no_ip_fragments(self):
        path, rate = self.rate(20, 0.01, 60_000_000 if FULL else 8_000_000)
        self.assertEqual(self.mtu(path), 1472)
        self.no_fragments(path)
        if FULL:
            self.assertGreater(rate, 85)

    def test_a_path_that_loses_one_packet_in_twenty_is_repaired_by_the_forwarders(self):
        path, rate = self.rate(20, 0.05, 60_000_000 if FULL else 8_000_000)
        faces = [face for host in (path.near, path.far) for face in host.command("face")]
        self.assertEqual(sum(face["reliability"] for face in faces if face["remote"].startswith("udp4")), 2)
        # Without repair it is 5 to 13 Mb/s.
        self.assertGreater(rate, 60 if FULL else 30)

    def test_a_path_that_becomes_narrow_is_followed(self):
        path = self.path("--rate", "20e6", "--delay", "5")
        file, digest = self.file(path, 6_000_000)
        path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        wait_for("a part", lambda: self.part(path).exists() and self.part(path).stat().st_size > 500_000)
        path.set_mtu(1300)
        statistics(finish(getting, timeout=30))
        self.assertEqual(digest_of(self.got(path)), digest)
        wait_for("the face to follow", lambda: self.mtu(path) == 1272)
        self.no_fragments(path)

    def test_a_file_that_asks_for_more_has_ip_fragments(self):
        path = self.path("--delay", "1", asked='mtu = "8800 B"')
        self.fetch(path, 1_000_000)
        self.assertGreater(path.ip_counters(path.hosts[1])["FragCreates"], 100)

    def test_peers_that_connect_by_themselves_get_frames_as_long_as_the_file_says_of_their_network(self):
        path = self.path("--delay", "1", asked='mtu_by_network = { "10.9.0.0/24" = "8800 B" }')
        self.fetch(path, 500_000)
        self.assertEqual((self.mtu(path), self.mtu(path, path.far)), (1472, 8800))
        self.assertGreater(path.ip_counters(path.hosts[1])["FragCreates"], 50)

    def test_a_forged_message_makes_frames_no_shorter_than_1200_bytes_and_has_none_split(self):
        path = self.path("--rate", "20e6", "--delay", "5")
        file, digest = self.file(path, 6_000_000)
        path.put("/movies/a", file)
        getting = path.start_get("/movies/a", self.got(path))
        wait_for("a part", lambda: self.part(path).exists() and self.part(path).stat().st_size > 500_000)
        path.forge_narrow_path(552)
        wait_for("the host to believe it", lambda: "mtu" in path.hosts[1].run("ip", "route", "get", NEAR))
        statistics(finish(getting, timeout=30))
        self.assertEqual(digest_of(self.got(path)), digest)
        self.assertEqual(self.mtu(path, path.far), 1200)
        self.no_fragments(path)

    def test_a_path_that_carries_less_than_1200_bytes_works(self):
        path = self.path("--delay", "1", mtu=800)
        self.fetch(path, 500_000)
        self.assertEqual(self.mtu(path), 1200)
        self.assertGreater(path.ip_counters(path.hosts[1])["FragCreates"], 100)

    def test_the_path_is_that_of_the_address_that_frames_leave_from(self):
        narrow = ["rule add from {} lookup 100".format(FAR_TOO), "route add 10.9.0.0/24 dev {dev} mtu 1300 table 100"]
        path = self.path("--delay", "1", far=FAR_TOO, far_routing=narrow)
        self.fetch(path, 500_000)
        self.assertEqual(self.mtu(path, path.far), 1272)
        self.no_fragments(path)

    def test_peers_are_answered_from_an_address_that_the_host_has(self):
        path = self.path(far_listens="0.0.0.0")
        near, far = path.hosts
        numbers = iter(range(100))

        def ask(port, to):
            """An Interest for a name without a route is answered by a Nack."""
            number = next(numbers)
            interest = bytes([5, 12, 7, 4, 8, 2, ord("x"), number, 10, 4, 0, 0, 0, number])
            return near.run(sys.executable, "-c", ASK, str(port), to, interest.hex()).strip()

        # The broadcast address is not used as a source address, now or later.
        self.assertEqual([ask(7000, to) for to in ("10.9.0.255", FAR)], ["answered"] * 2)
        self.assertEqual(ask(7001, FAR), "answered")
        far.ip("address", "delete", f"{FAR}/24", "dev", path.ends[1])
        far.ip("address", "add", f"{FAR_TOO}/24", "dev", path.ends[1])
        # The first answer shows the forwarder that the address is gone, and is lost.
        self.assertIn("answered", [ask(7001, FAR_TOO) for _ in range(2)])

    def test_frames_become_shorter_where_the_host_refuses_what_it_says_that_the_path_carries(self):
        # The query for the path uses another port.
        narrow = ["rule add ipproto udp sport 6363 lookup 100", "route add 10.9.0.0/24 dev {dev} mtu 1300 table 100"]
        path = self.path("--delay", "1", far_routing=narrow)
        self.fetch(path, 500_000)
        self.assertEqual(self.mtu(path, path.far), 1200)
        self.no_fragments(path)
        warnings = path.far.process.path.read_text().count("refuses frames that it says the path carries")
        self.assertEqual(warnings, 1)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        without_offload(sys.argv[1])
    else:
        send_frame(sys.argv[1], bytes.fromhex(sys.argv[2]))
