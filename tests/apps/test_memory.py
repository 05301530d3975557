"""A forwarder with little memory: with the file from docs/tasks/internet.md, all its tables fill under a limit of the
operating system."""

import json
import pathlib
import re
import socket
import struct
import time
import types
import unittest

from path import Lab, OnAPath, digest_of, free_port, wait_for, weir_binary

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "tasks" / "internet.md"
# The limit for `ulimit -v`, kB; and the maximum resident memory, kB.
ADDRESSES, RESIDENT = 250_000, 64_000
INTERESTS, FRAGMENTS, CONTENT = 100_000, 5_000, 20_000_000

COMMON = """
[faces.unix]
path = "{path}"
[faces.udp]
listen = "127.0.0.1:{port}"
[faces.tcp]
listen = []
[[face]]
name = "silent"
remote = "udp4://127.0.0.1:{silent}"
[[route]]
prefix = "/silent"
face = "silent"
"""


def element(typ, value):
    """A TLV of a type below 253, or of two octets."""
    head = bytes([typ]) if typ < 253 else b"\xfd" + struct.pack(">H", typ)
    length = bytes([len(value)]) if len(value) < 253 else b"\xfd" + struct.pack(">H", len(value))
    return head + length + value


def interest(number):
    name = element(7, element(8, b"silent") + element(8, str(number).encode()))
    return element(5, name + element(10, struct.pack(">I", number)) + element(12, struct.pack(">H", 60_000)))


def first_fragment(number):
    """The first of two fragments of a packet. The other is never sent."""
    sequence, index, count = element(81, struct.pack(">Q", 2 * number)), element(82, b"\0"), element(83, b"\2")
    return element(100, sequence + index + count + element(80, bytes(1400)))


def settings():
    """The file on the page."""
    return re.search(r"<!-- file: small.toml -->\n```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]


class SmallForwarder(OnAPath):
    def path(self):
        path = types.SimpleNamespace(lab=Lab())
        self.addCleanup(path.lab.close)
        self.host = path.lab.host("small", is_isolated=False)
        self.silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.silent.close)
        self.silent.bind(("127.0.0.1", 0))
        self.port, self.unix = free_port(), self.host.folder / "s"
        file = self.host.folder / "small.toml"
        common = COMMON.format(path=self.unix, port=self.port, silent=self.silent.getsockname()[1])
        file.write_text(common + settings())
        self.forwarder = self.host.start(
            "sh", "-c", f'ulimit -v {ADDRESSES}; exec "$@"', "sh", weir_binary(), "forward", "--config", file,
            say="listening",
        )  # fmt: skip
        return path

    def status(self):
        return json.loads(self.host.run(weir_binary(), "status", "--json", "--socket", f"unix://{self.unix}"))

    def full_pit(self):
        """Number of entries of a PIT that has stopped growing."""
        before = self.status()["pit_entries"]
        time.sleep(0.2)
        return before > 10_000 and self.status()["pit_entries"] == before and before

    def resident_kb(self):
        status = pathlib.Path(f"/proc/{self.forwarder.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])

    def test_full_tables_of_the_file_for_small_machines_fit(self):
        path = self.path()
        with socket.socket(socket.AF_UNIX) as application:
            application.connect(str(self.unix))
            for number in range(INTERESTS):
                application.sendall(interest(number))
            full = wait_for("a full PIT", self.full_pit)
            for number in range(FRAGMENTS):
                if number % 50 == 0:
                    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    self.addCleanup(peer.close)
                peer.sendto(first_fragment(number), ("127.0.0.1", self.port))
            file, digest = self.file(path, CONTENT)
            self.host.start(weir_binary(), "put", "/content", file, "--socket", f"unix://{self.unix}", say="egistered")
            self.host.run(weir_binary(), "get", "/content", "-o", self.got(path), "--socket", f"unix://{self.unix}")
        self.assertEqual(digest_of(self.got(path)), digest)
        self.assertIsNone(self.forwarder.poll())
        print(f"{full} pending Interests, {self.status()['cs_entries']} cached Data: {self.resident_kb() / 1000:.0f} MB at most")
        self.assertLess(self.resident_kb(), RESIDENT)


if __name__ == "__main__":
    unittest.main(verbosity=2)
