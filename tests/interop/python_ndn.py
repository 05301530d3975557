"""python-ndn's two APIs as producer and consumer, behind one interface."""

import asyncio
import contextlib
from urllib.parse import urlparse

from ndn import app, appv2, security
from ndn.client_conf import default_face

SIGNER = security.DigestSha256Signer()


class V1:
    """`ndn.app.NDNApp`: the documented API, which signs commands in the older format."""

    label = "NDNApp"

    def __init__(self, uri):
        self.app = app.NDNApp(face=default_face(uri), keychain=security.KeychainDigest())

    async def produce(self, prefix, content):
        """Registers a prefix and answers its Interests. Returns whether the forwarder accepted."""

        def on_interest(name, _param, _app_param):
            self.app.put_data(name, content=content, freshness_period=1)

        return await self.app.register(prefix, on_interest)

    async def get(self, name, lifetime=4000):
        _, _, content = await self.app.express_interest(name, must_be_fresh=True, lifetime=lifetime)
        return bytes(content)


class V2:
    """`ndn.appv2.NDNApp`: the newer API, which returns PIT tokens."""

    label = "appv2"

    def __init__(self, uri):
        self.app = appv2.NDNApp(face=default_face(uri))

    async def produce(self, prefix, content):
        def on_interest(name, _app_param, reply, _context):
            reply(self.app.make_data(name, content, SIGNER, freshness_period=1))

        self.app.attach_handler(prefix, on_interest)
        return await self.app.register(prefix)

    async def get(self, name, lifetime=4000):
        _, content, _ = await self.app.express(name, appv2.pass_all, must_be_fresh=True, lifetime=lifetime)
        return bytes(content)


APIS = (V1, V2)


@contextlib.asynccontextmanager
async def connected(peer):
    """A peer while it is connected."""
    up = asyncio.Event()

    async def on_start():
        up.set()

    loop = asyncio.create_task(peer.app.main_loop(on_start()))
    started = asyncio.create_task(up.wait())
    await asyncio.wait([loop, started], return_when=asyncio.FIRST_COMPLETED)
    if loop.done():
        loop.result()
    try:
        yield peer
    finally:
        peer.app.shutdown()
        await asyncio.wait_for(loop, 5)


def scheme(uri):
    return urlparse(uri).scheme
