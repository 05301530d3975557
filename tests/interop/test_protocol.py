"""What applications may send and must receive, frame by frame. Frames are built with `wire`, packets with python-ndn."""

import sys
import unittest

from ndn.app_support import nfd_mgmt

import wire
from lab import HERE, Lab
from matrix import row


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.weir = cls.lab.host().weir()

    def setUp(self):
        self.producer = wire.Client.unix(self.weir.path)
        self.addCleanup(self.producer.sock.close)
        self.prefix = f"/{self.id().rsplit('.', 1)[-1]}"
        self.producer.register(self.prefix)

    def clients(self):
        """A client on each kind of socket."""
        return [
            wire.Client.unix(self.weir.path),
            wire.Client.tcp("127.0.0.1"),
            wire.Client.udp("127.0.0.1"),
        ]

    def exchange(self, client, *fields, answer_with=()):
        """Sends an Interest with these fields, which the producer answers. Returns the frames that each side receives."""
        name = wire.fresh_name(self.prefix)
        client.send(wire.lp(wire.interest(name), *fields))
        asked = self.producer.receive()
        token = [(wire.PIT_TOKEN, asked.fields[wire.PIT_TOKEN])] if wire.PIT_TOKEN in asked.fields else []
        self.producer.send(wire.lp(wire.data(asked.name), *token, *answer_with))
        return asked, client.receive()

    def assert_nothing_else_comes(self, client):
        """The client's next request is the next frame at the producer: nothing that it sent before arrives there."""
        interest = wire.interest(wire.fresh_name(self.prefix))
        client.send(interest)
        self.assertEqual(self.producer.receive().name, wire.name_of(interest))

    @row("any", "PIT tokens of 1 to 32 B come back unchanged, over Unix, TCP and UDP")
    def test_pit_tokens_come_back(self):
        for client in self.clients():
            with client:
                for size in (1, 4, 6, 8, 32):
                    token = bytes(range(size))
                    asked, answer = self.exchange(client, (wire.PIT_TOKEN, token))
                    self.assertEqual(answer.fields.get(wire.PIT_TOKEN), token)
                    self.assertIn(len(asked.fields.get(wire.PIT_TOKEN, b"")), (0, 6), "ndnd takes 6 bytes or none")

    @row("any", "Data without the PIT token of its Interest is accepted; `NDNApp` sends such Data")
    def test_data_without_a_token_is_taken(self):
        with wire.Client.unix(self.weir.path) as client:
            name = wire.fresh_name(self.prefix)
            client.send(wire.lp(wire.interest(name), (wire.PIT_TOKEN, b"client")))
            self.producer.send(wire.data(self.producer.receive().name))
            answer = client.receive()
            self.assertEqual((answer.kind, answer.fields.get(wire.PIT_TOKEN)), ("Data", b"client"))

    @row("any", "unknown ignorable fields of NDNLPv2 are ignored, and not forwarded")
    def test_fields_that_may_be_ignored_are(self):
        with wire.Client.udp("127.0.0.1") as client:
            for field in (852, 856, 860):
                with self.subTest(field=field):
                    asked, answer = self.exchange(client, (field, b"\5"), answer_with=[(field, b"\5")])
                    self.assertNotIn(field, asked.fields)
                    self.assertNotIn(field, answer.fields)

    @row("any", "unknown critical fields of NDNLPv2: the frame is dropped, as in ndn-cxx")
    def test_fields_that_may_not_be_ignored_drop_the_frame(self):
        with wire.Client.udp("127.0.0.1") as client:
            for field in (853, 890, 894, 961):
                with self.subTest(field=field):
                    client.send(wire.lp(wire.interest(wire.fresh_name(self.prefix)), (field, b"\5")))
                    self.assert_nothing_else_comes(client)

    @row("any", "an Interest without Nonce gets one; HopLimit 0 is dropped")
    def test_a_nonce_is_added(self):
        with wire.Client.udp("127.0.0.1") as client:
            interest = wire.interest(wire.fresh_name(self.prefix), nonce=0x01020304)
            at = interest.index(b"\x0a\x04\x01\x02\x03\x04")
            bare = bytes([interest[0], interest[1] - 6]) + interest[2:at] + interest[at + 6 :]
            client.send(bare)
            self.assertIn(b"\x0a\x04", self.producer.receive().packet)
            client.send(wire.interest(wire.fresh_name(self.prefix), hop_limit=0))
            self.assert_nothing_else_comes(client)

    @row("any", "congestion marks on Interests and Data are forwarded")
    def test_marks_are_passed_on(self):
        mark = (wire.CONGESTION_MARK, b"\1")
        for client in self.clients():
            with client:
                asked, answer = self.exchange(client, mark)
                self.assertEqual((asked.mark, answer.mark), (1, 0))
                asked, answer = self.exchange(client, answer_with=[mark])
                self.assertEqual((asked.mark, answer.mark), (0, 1))

    @row("any", "no route: Nack NoRoute, with the PIT token of the Interest")
    def test_no_route_is_a_nack(self):
        for client in self.clients():
            with client:
                answer = client.ask(wire.lp(wire.interest("/nobody"), (wire.PIT_TOKEN, b"four")))
                self.assertEqual((answer.kind, answer.nack_reason), ("Nack", wire.NO_ROUTE))
                self.assertEqual(answer.fields[wire.PIT_TOKEN], b"four")

    @row("any", "a packet in NDNLPv2 fragments is reassembled, in any order of the fragments")
    def test_fragments_are_put_together(self):
        with wire.Client.udp("127.0.0.1") as client:
            interest = wire.interest(wire.fresh_name(self.prefix + "/" + "x" * 3000))
            pieces = [interest[at : at + 1000] for at in range(0, len(interest), 1000)]
            frames = []
            for index, piece in enumerate(pieces):
                numbers = [
                    (wire.SEQUENCE, (1000 + index).to_bytes(8, "big")),
                    (wire.FRAG_INDEX, bytes([index])),
                    (wire.FRAG_COUNT, bytes([len(pieces)])),
                ]
                frames.append(wire.lp(piece, *numbers))
            client.send(*reversed(frames))
            self.assertEqual(self.producer.receive().name, wire.name_of(interest))


# A program that sends frames to the forwarder from the other host, and prints the answers until the last frame is
# answered. Its first argument is the protocol; the others are frames in hexadecimal.
ASK = """
import sys
import wire
frames = [bytes.fromhex(frame) for frame in sys.argv[2:]]
names = [str(wire.name_of(frame)) for frame in frames]
answers = {}
with getattr(wire.Client, sys.argv[1])("10.3.0.1") as client:
    client.send(*frames)
    while names[-1] not in answers:
        answer = client.receive()
        if answer is None:
            break
        answers[str(answer.name)] = answer
for name in names:
    answer = answers.get(name)
    if answer is None:
        print("nothing")
    elif answer.kind == "Nack":
        print("Nack", answer.nack_reason)
    else:
        print(answer.kind, wire.status_code(answer.packet))
"""


class TwoHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.here, cls.there = cls.lab.host(), cls.lab.host("there")
        cls.lab.link(cls.here, cls.there, "10.3.0")
        cls.weir = cls.here.weir(
            '[faces.tcp]\nlisten = "0.0.0.0:6363"\n[faces.udp]\nlisten = "0.0.0.0:6363"\n'
        )

    @row("any", "both formats of signed commands, over Unix, TCP and UDP; a repeated command of who has rights is rejected")
    def test_a_command_that_comes_again_is_not_obeyed(self):
        sockets = [wire.Client.unix(self.weir.path), wire.Client.tcp("127.0.0.1"), wire.Client.udp("127.0.0.1")]
        for client in sockets:
            with client:
                for signed_as in ("v0.3", "Command Interest"):
                    command = wire.command("rib", "register", signed_as, name="/twice")
                    undo = wire.command("rib", "unregister", signed_as, name="/twice")
                    for each in (command, undo):
                        self.assertEqual(wire.status_code(client.ask(each).packet), 200)
                    answer = client.ask(self.with_other_nonce(command))
                    if client is sockets[0]:
                        # Also without MustBeFresh, because the first answer is not kept in the content store.
                        self.assertEqual(wire.status_code(answer.packet), 403)
                        self.assertNotIn("/twice", [route["prefix"] for route in self.weir.command("route")])
                    else:
                        # The user of these is unknown. A client without rights may sign the same command for itself.
                        self.assertEqual(wire.status_code(answer.packet), 200)
                        undo = wire.command("rib", "unregister", signed_as, name="/twice")
                        self.assertEqual(wire.status_code(client.ask(undo).packet), 200)

    @staticmethod
    def with_other_nonce(command):
        """Replays a recorded command: the Nonce is not signed, so it can be changed."""
        at = command.rindex(b"\x0a\x04", 0, command.index(b"\x0c\x02\x07\xd0")) + 2
        return command[:at] + bytes(byte ^ 0xFF for byte in command[at : at + 4]) + command[at + 4 :]

    @row("any", "many commands in one millisecond are all accepted")
    def test_commands_may_come_fast(self):
        with wire.Client.unix(self.weir.path) as client:
            commands = [wire.command("rib", "register", name=f"/fast/{number}") for number in range(50)]
            client.send(*commands)
            self.assertEqual({wire.status_code(client.receive().packet) for _ in commands}, {200})

    @row("any", "an unsigned command and one with a wrong digest are rejected (403)")
    def test_commands_without_a_right_signature_are_refused(self):
        with wire.Client.unix(self.weir.path) as client:
            unsigned = wire.interest(nfd_mgmt.make_command_v2("rib", "register", name="/forged"), must_be_fresh=True)
            self.assertEqual(wire.status_code(client.ask(unsigned).packet), 403)
            signed = wire.command("rib", "register", "Command Interest", name="/forged")
            # The last byte of the last component belongs to the digest. Nonce and lifetime follow.
            forged = bytearray(signed)
            forged[signed.rindex(b"\x0a\x04") - 1] ^= 1
            self.assertEqual(wire.status_code(client.ask(bytes(forged)).packet), 403)
        self.assertNotIn("/forged", [route["prefix"] for route in self.weir.command("route")])

    def neighbour_asks(self, scheme, *frames):
        """The answers to frames from the other host, as lines."""
        program = ("env", f"PYTHONPATH={HERE}", sys.executable, "-c", ASK)
        return self.there.run(*program, scheme, *(frame.hex() for frame in frames)).splitlines()

    @row("any", "commands from another host: dropped under `/localhost`, rejected (403) under `/localhop`")
    def test_a_neighbour_may_not_command(self):
        host, hop = (
            wire.command("rib", "register", prefix=prefix, name="/hijacked")
            for prefix in ("/localhost/nfd", "/localhop/nfd")
        )
        for scheme in ("tcp", "udp"):
            self.assertEqual(self.neighbour_asks(scheme, host, hop), ["nothing", "Data 403"], scheme)
        self.assertNotIn("/hijacked", [route["prefix"] for route in self.weir.command("route")])

    @row("any", "an Interest that comes back from another host while it is pending: Nack Duplicate")
    def test_a_loop_is_a_nack(self):
        for scheme in ("tcp", "udp"):
            with wire.Client.unix(self.weir.path) as client, wire.Client.unix(self.weir.path) as producer:
                producer.register("/loop")
                interest = wire.interest(wire.fresh_name("/loop"), nonce=7)
                client.send(interest)
                self.assertIsNotNone(producer.receive())
                self.assertEqual(self.neighbour_asks(scheme, interest), [f"Nack {wire.DUPLICATE}"])

    @row("any", "an application of this host may register its own face under `/localhop` too")
    def test_an_application_may_register_under_localhop(self):
        with wire.Client.tcp("127.0.0.1") as client:
            own = wire.command("rib", "register", prefix="/localhop/nfd", name="/own")
            self.assertEqual(wire.status_code(client.ask(own).packet), 200)
            other = wire.command("rib", "register", prefix="/localhop/nfd", name="/other", face_id=1)
            self.assertEqual(wire.status_code(client.ask(other).packet), 403)
