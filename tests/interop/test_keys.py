"""Keys and certificates: Weir's are read by other tools, and theirs by `weir key`."""

import base64
import json
import unittest

from Cryptodome.PublicKey import ECC
from ndn.app_support.security_v2 import parse_certificate
from ndn.encoding import MetaInfo, Name, make_data, parse_data
from ndn.security.signer.ed25519_signer import Ed25519Signer
from ndn.security.signer.sha256_ecdsa_signer import Sha256WithEcdsaSigner
from ndn.security.signer.sha256_hmac_signer import HmacSha256Signer
from ndn.security.validator.known_key_validator import EccChecker, Ed25519Checker, HmacChecker

from lab import HERE, NDND, PEERS, Failed, Lab, needs, needs_ndnd, weir_binary
from matrix import row

PYNDNSEC = PEERS / "python" / "bin" / "pyndnsec"
KEYS_MJS = HERE / "ndnts" / "keys.mjs"
TYPES = ("ed25519", "ecdsa")


class Keys(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)
        cls.host = cls.lab.host()
        cls.passphrase = cls.host.folder / "passphrase"
        cls.passphrase.write_text("passphrase\n")

    def key(self, *arguments, text=True):
        """Runs `weir key`."""
        return self.host.run(weir_binary(), "key", *arguments, text=text)

    def new(self, identity, typ):
        """Creates a key with Weir. Returns its name, and the binary certificate."""
        self.key("new", identity, "--type", typ)
        [row] = json.loads(self.key("list", identity, "--json"))
        return row["key"], self.key("export", identity, "--format", "binary", text=False)

    def file(self, name, content):
        path = self.host.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def piped(self, content, *arguments):
        """Returns the output of a command that reads these bytes from a file."""
        path = self.file("stdin", content)
        return self.host.run("sh", "-c", 'f=$1; shift; exec "$@" < "$f"', "sh", path, *arguments)


class Ndnd(Keys):
    def setUp(self):
        needs_ndnd()

    @row("ndnd", "private keys and certificates that `weir key` exports: `sec sign-cert`, `key-import`, `pem-decode`")
    def test_it_reads_ours(self):
        for typ in TYPES:
            identity = f"/to-ndnd/{typ}"
            _, wire = self.new(identity, typ)
            secret = self.key("export", identity, "--private", "--format", "ndnd")
            pem = self.key("export", identity, "--format", "ndnd")
            decoded = base64.b64decode(self.piped(pem, "sh", "-c", f"{NDND} sec pem-decode | base64"))
            self.assertEqual(decoded, wire)
            # It signs a certificate with our key. We check that it used the right one.
            issued = self.piped(secret, NDND, "sec", "sign-cert", self.file("ours.key", secret), "--issuer", "ndnd")
            self.key("certify", self.file("issued.cert", issued), "--by", identity)
            folder = self.host.folder / f"ndnd-{typ}"
            self.piped(secret + pem, NDND, "sec", "key-import", f"dir://{folder}")
            self.assertIn(identity, self.host.run(NDND, "sec", "key-list", f"dir://{folder}"))
            # Our self-signed certificate is the request to its own key.
            root = self.host.run(NDND, "sec", "keygen", "/to-ndnd", "ed25519")
            member = self.piped(pem, NDND, "sec", "sign-cert", self.file("root.key", root))
            self.key("import", self.file("member.cert", member))
            [kept] = json.loads(self.key("list", identity, "--json"))
            self.assertEqual(len(kept["certificates"]), 2)

    @row("ndnd", "`weir key import` of the output of `sec keygen` and `sec sign-cert`")
    def test_we_read_its(self):
        for typ, parameters in [("ed25519", ["ed25519"]), ("ecdsa", ["ecc", "secp256r1"])]:
            identity = f"/of-ndnd/{typ}"
            secret = self.host.run(NDND, "sec", "keygen", identity, *parameters)
            path = self.file("theirs.key", secret)
            certificate = self.piped(secret, NDND, "sec", "sign-cert", path)
            self.key("import", self.file("both.pem", secret + certificate))
            [kept] = json.loads(self.key("list", identity, "--json"))
            self.assertEqual((kept["type"], len(kept["certificates"])), (typ, 1))
            self.assertTrue(kept["certificates"][0]["valid"])
            self.key("certify", self.file("theirs.cert", certificate), "--by", identity)
            if typ == "ed25519":  # Both sign the same bytes in the same way.
                again = self.key("export", identity, "--private", "--format", "ndnd")
                self.assertEqual(again.split("\n\n")[1], secret.split("\n\n")[1])


class PythonNdn(Keys):
    CHECKERS = {"ed25519": Ed25519Checker, "ecdsa": EccChecker}

    async def verifies(self, checker, wire):
        name, _, _, signature = parse_data(wire)
        return await checker(name, signature)

    @row("python-ndn", "verification of certificates of `weir key`, Ed25519 and ECDSA; Data signed with its private keys, also HMAC")
    async def test_it_reads_ours(self):
        for typ in TYPES:
            with self.subTest(type=typ):
                name, wire = self.new(f"/to-python/{typ}", typ)
                self.assertEqual(Name.to_str(parse_certificate(wire).name[:-2]), name)
                checker = self.CHECKERS[typ].from_cert(wire)
                self.assertTrue(await self.verifies(checker, wire))
                pem = self.key("export", name, "--private", "--format", "pem")
                der = ECC.import_key(pem[pem.index("-----BEGIN") :]).export_key(format="DER")
                signer = (Ed25519Signer if typ == "ed25519" else Sha256WithEcdsaSigner)(name, der)
                data = make_data("/d", MetaInfo(), b"x", signer)
                self.assertTrue(await self.verifies(checker, data))
                forged = bytearray(data)
                forged[-1] ^= 1
                self.assertFalse(await self.verifies(checker, forged))
        self.key("new", "/to-python/hmac", "--type", "hmac")
        pem = self.key("export", "/to-python/hmac", "--private", "--format", "pem")
        lines = pem.splitlines()
        name, secret = lines[0].removeprefix("Name: "), base64.b64decode("".join(lines[2:-1]))
        data = make_data("/d", MetaInfo(), b"x", HmacSha256Signer(name, secret))
        self.assertTrue(await self.verifies(HmacChecker.from_key(name, secret), data))

    @row("python-ndn", "`weir key import` of the output of `pyndnsec export` and of pyndnsec's key files; `pyndnsec import` of certificates from `weir key certify`")
    def test_we_read_its_and_certify_it(self):
        pib = self.host.folder / "pib"
        pib.mkdir()
        self.host.run(PYNDNSEC, "--path", pib, "init")
        self.host.run(PYNDNSEC, "--path", pib, "key-gen", "/of-python")
        certificate = self.file("python.cert", self.host.run(PYNDNSEC, "--path", pib, "export", "/of-python"))
        self.key("import", certificate)
        [kept] = json.loads(self.key("list", "/of-python", "--json"))
        self.assertEqual((kept["type"], len(kept["certificates"])), (None, 1))
        [secret] = (pib / "ndnsec-key-file").iterdir()
        pem = f"-----BEGIN EC PRIVATE KEY-----\n{secret.read_text()}\n-----END EC PRIVATE KEY-----\n"
        with self.assertRaisesRegex(Failed, "--name"):
            self.key("import", self.file("python.key", pem))
        self.key("import", self.file("python.key", pem), "--name", kept["key"])
        [kept] = json.loads(self.key("list", "/of-python", "--json"))
        self.assertEqual(kept["type"], "ecdsa")
        self.key("new", "/", "--default")
        issued = self.key("certify", certificate, "--issuer", "weir")
        self.host.run(PYNDNSEC, "--path", pib, "import", self.file("issued.cert", issued))
        self.assertRegex(self.host.run(PYNDNSEC, "--path", pib, "list", "-vvv"), r"/weir/")


class NdnTs(Keys):
    def setUp(self):
        needs(HERE / "ndnts" / "node_modules", "NDNts is not installed: it needs Node.js")

    @row("NDNts", "certificates and SafeBags of `weir key`: NDNts verifies them, and signs with the key in them")
    def test_it_reads_ours(self):
        for typ in TYPES:
            identity = f"/to-ndnts/{typ}"
            _, wire = self.new(identity, typ)
            folder = self.host.folder / f"to-{typ}"
            folder.mkdir()
            (folder / "cert").write_bytes(wire)
            file = ["--passphrase-file", self.passphrase, "--output", folder / "safebag"]
            self.key("export", identity, "--private", "--format", "binary", *file)
            self.assertEqual((folder / "safebag").stat().st_mode & 0o777, 0o600)
            said = self.host.run("node", KEYS_MJS, "check", folder)
            self.assertEqual(said.strip(), f"verified true {len(wire)}")

    @row("NDNts", "`weir key import` of its certificates and SafeBags")
    def test_we_read_its(self):
        folder = self.host.folder / "from"
        folder.mkdir()
        self.host.run("node", KEYS_MJS, "make", folder)
        for typ in TYPES:
            self.key("import", folder / f"{typ}.safebag", "--passphrase-file", self.passphrase)
            [kept] = json.loads(self.key("list", f"/ndnts/{typ}", "--json"))
            self.assertEqual((kept["type"], len(kept["certificates"])), (typ, 1))
            self.key("certify", folder / f"{typ}.cert", "--by", f"/ndnts/{typ}")
            wrong = self.file("wrong", "Passphrase\n")
            with self.assertRaisesRegex(Failed, "the passphrase is wrong"):
                self.key("import", folder / f"{typ}.safebag", "--passphrase-file", wrong)


# The common base class must not run as a test.
del Keys
