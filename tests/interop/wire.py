"""Frames built by hand: those that no library would send, and access to all fields of a received frame."""

import os
import socket
import struct

from ndn import encoding, security, utils
from ndn.app_support import nfd_mgmt

LP_PACKET, FRAGMENT, SEQUENCE, FRAG_INDEX, FRAG_COUNT, PIT_TOKEN = 100, 80, 81, 82, 83, 98
NACK, NACK_REASON, CONGESTION_MARK = 800, 801, 832
DUPLICATE, NO_ROUTE = 100, 150
CONTROL_RESPONSE = 101
INTEREST, DATA = 5, 6


def number(value):
    """A TLV variable-size number."""
    if value < 253:
        return bytes([value])
    return b"\xfd" + struct.pack(">H", value) if value < 1 << 16 else b"\xfe" + struct.pack(">I", value)


def tlv(typ, value):
    return number(typ) + number(len(value)) + value


def read_number(wire, at):
    first = wire[at]
    if first < 253:
        return first, at + 1
    size = {253: 2, 254: 4, 255: 8}[first]
    return int.from_bytes(wire[at + 1 : at + 1 + size], "big"), at + 1 + size


def elements(wire):
    """Types and values, concatenated."""
    at = 0
    while at < len(wire):
        typ, at = read_number(wire, at)
        size, at = read_number(wire, at)
        yield typ, bytes(wire[at : at + size])
        at += size


def lp(packet, *fields):
    """An LpPacket: fields as pairs of type and value, in order."""
    return tlv(LP_PACKET, b"".join(tlv(typ, value) for typ, value in fields) + tlv(FRAGMENT, packet))


def interest(name, nonce=None, lifetime=2000, **more):
    """An Interest. Without a given nonce it gets a random one."""
    nonce = int.from_bytes(os.urandom(4), "big") if nonce is None else nonce
    return bytes(encoding.make_interest(name, encoding.InterestParam(nonce=nonce, lifetime=lifetime, **more)))


def data(name, content=b"hello", freshness=1):
    signer = security.DigestSha256Signer()
    return bytes(encoding.make_data(name, encoding.MetaInfo(freshness_period=freshness), content, signer))


def fresh_name(prefix):
    """A name under a prefix that was not used before."""
    return f"{prefix}/{os.urandom(6).hex()}"


def name_of(packet):
    """The name in an Interest or Data, as text."""
    _, value = next(elements(packet))
    for typ, name in elements(value):
        if typ == 7:
            return encoding.Name.to_str(encoding.Name.from_bytes(tlv(7, name)))
    raise ValueError("no name")


def command(module, verb, signed_as="v0.3", prefix="/localhost/nfd", **parameters):
    """A management command in one of the two signing formats."""
    if signed_as == "v0.3":
        name = nfd_mgmt.make_command_v2(module, verb, **parameters)
        signer = security.DigestSha256Signer(for_interest=True)
        param = encoding.InterestParam(nonce=utils.gen_nonce(), lifetime=2000, must_be_fresh=True)
        name = encoding.Name.from_str(prefix) + list(name[2:])
        return bytes(encoding.make_interest(name, param, app_param=b"", signer=signer))
    name = nfd_mgmt.make_command(module, verb, **parameters)
    name = encoding.Name.from_str(prefix) + list(name[2:])
    return bytes(encoding.make_interest(name, encoding.InterestParam(nonce=utils.gen_nonce(), lifetime=2000)))


def status_code(packet):
    """The StatusCode of a ControlResponse in a Data."""
    _, _, content, _ = encoding.parse_data(packet)
    return nfd_mgmt.ControlResponse.parse(dict(elements(content))[CONTROL_RESPONSE]).status_code


class Frame:
    """A received frame: its link header, and the packet in it."""

    def __init__(self, wire):
        self.wire = wire
        typ, value = next(elements(wire))
        self.fields = dict(elements(value)) if typ == LP_PACKET else {}
        self.packet = self.fields.pop(FRAGMENT, None) if typ == LP_PACKET else wire

    @property
    def kind(self):
        """Interest, Data, Nack or fragment."""
        if NACK in self.fields:
            return "Nack"
        if FRAG_COUNT in self.fields:
            return "fragment"
        return {INTEREST: "Interest", DATA: "Data"}.get(self.packet[0], "?")

    @property
    def name(self):
        return name_of(self.packet)

    @property
    def nack_reason(self):
        return int.from_bytes(dict(elements(self.fields[NACK])).get(NACK_REASON, b"\0"), "big")

    @property
    def mark(self):
        return int.from_bytes(self.fields.get(CONGESTION_MARK, b""), "big")

    def __repr__(self):
        return f"{self.kind} {self.fields} {self.packet.hex() if self.packet else None}"


class Client:
    """A socket that sends and receives single frames."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b""

    @classmethod
    def udp(cls, host, port=6363):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect((host, port))
        return cls(sock)

    @classmethod
    def tcp(cls, host, port=6363):
        return cls(socket.create_connection((host, port)))

    @classmethod
    def unix(cls, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(path))
        return cls(sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, *frames):
        for frame in frames:
            self.sock.sendall(frame)

    def receive(self, timeout=5):
        """Returns the next frame, or None if none arrives within `timeout` seconds."""
        self.sock.settimeout(timeout)
        while True:
            if frame := self._whole():
                return Frame(frame)
            try:
                got = self.sock.recv(1 << 16)
            except TimeoutError:
                return None
            if not got:
                return None
            self.rest += got

    def _whole(self):
        try:
            _, at = read_number(self.rest, 0)
            size, at = read_number(self.rest, at)
        except IndexError:
            return None
        if len(self.rest) < at + size:
            return None
        frame, self.rest = self.rest[: at + size], self.rest[at + size :]
        return frame

    def ask(self, *frames, timeout=5):
        """Sends frames, and returns the answer like `receive`."""
        self.send(*frames)
        return self.receive(timeout)

    def register(self, prefix, **more):
        """Registers a prefix for this face. Raises AssertionError if it is refused."""
        answer = self.ask(command("rib", "register", name=prefix, **more))
        code = status_code(answer.packet)
        assert code == 200, f"{prefix} not registered: {code}"
