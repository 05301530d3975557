// NDNts as a peer: node peer.mjs serve|consume|status|marks URI...
//
// URI: unix:///path, tcp://host:port, udp://host:port or ws://host:port. Each has a logical forwarder and a
// face of its own, and /ndnts/SCHEME for what it produces. What came out is printed as a JSON object a line.
import { createHash } from "node:crypto";

import { consume, produce } from "@ndn/endpoint";
import { Forwarder } from "@ndn/fw";
import { Version } from "@ndn/naming-convention2";
import {
  ChannelStatus, CsInfo, enableNfdPrefixReg, FaceStatus, GeneralStatus, invoke, list, RibEntry, StrategyChoice,
} from "@ndn/nfdmgmt";
import { TcpTransport, UdpTransport, UnixTransport } from "@ndn/node-transport";
import { Data, digestSigning, Interest, Name } from "@ndn/packet";
import { Metadata, retrieveMetadata, serveMetadata } from "@ndn/rdr";
import { BufferChunkSource, fetch, serve, TcpCubic } from "@ndn/segmented-object";
import { toUtf8 } from "@ndn/util";
import { WsTransport } from "@ndn/ws-transport";

const OBJECT = new Uint8Array(100_000).map((_, at) => at % 251);

const print = (said) => console.log(JSON.stringify(said, (_, value) =>
  typeof value === "bigint" || value instanceof Name ? value.toString() : value));

async function connect(uri) {
  const fw = Forwarder.create();
  const url = new URL(uri);
  const scheme = url.protocol.slice(0, -1);
  const attributes = { fw, addRoutes: ["/"] };
  const peer = { host: url.hostname, port: Number(url.port) };
  const face = await {
    unix: () => UnixTransport.createFace(attributes, url.pathname),
    tcp: () => TcpTransport.createFace(attributes, peer.host, peer.port),
    udp: () => UdpTransport.createFace(attributes, peer),
    ws: () => WsTransport.createFace(attributes, uri),
  }[scheme]();
  return { fw, face, scheme };
}

async function serveOn({ fw, face, scheme }) {
  enableNfdPrefixReg(face, { signer: digestSigning, retry: { retries: 1 } });
  const prefix = new Name(`/ndnts/${scheme}`);
  produce(prefix.append("hello"), async (interest) =>
    new Data(interest.name, Data.FreshnessPeriod(1), toUtf8("hello from NDNts")),
  { fw, announcement: prefix, dataSigner: digestSigning });
  const object = prefix.append("object");
  const versioned = object.append(Version, 1);
  serve(versioned, new BufferChunkSource(OBJECT),
    { pOpts: { fw, announcement: false }, signer: digestSigning });
  serveMetadata(new Metadata(versioned),
    { prefix: object, pOpts: { fw, announcement: false }, signer: digestSigning });
}

async function get(fw, name) {
  const interest = new Interest(new Name(name).append(`${Math.random()}`), Interest.MustBeFresh, Interest.Lifetime(3000));
  const { content } = await consume(interest, { fw });
  return new TextDecoder().decode(content);
}

async function getObject(fw, name, opts = {}) {
  const metadata = await retrieveMetadata(new Name(name), { fw });
  return fetch(metadata.name, { fw, ...opts });
}

/** Everything of every name, by one face. Names that begin with `object:` are objects. */
async function consumeOn({ fw, scheme }, names) {
  for (const name of names) {
    try {
      if (name.startsWith("object:")) {
        const object = await getObject(fw, name.slice(7));
        print({ scheme, name, got: object.length, sha256: createHash("sha256").update(object).digest("hex") });
      } else {
        print({ scheme, name, got: await get(fw, name) });
      }
    } catch (error) {
      print({ scheme, name, error: `${error}` });
    }
  }
}

async function statusOn({ fw, scheme }) {
  const cOpts = { fw };
  for (const Dataset of [GeneralStatus, ChannelStatus, FaceStatus, RibEntry, StrategyChoice, CsInfo]) {
    try {
      print({ scheme, dataset: Dataset.name, got: await list(Dataset, { cOpts }) });
    } catch (error) {
      print({ scheme, dataset: Dataset.name, error: `${error}` });
    }
  }
  const { statusCode } = await invoke("faces/create", { uri: "udp4://127.0.0.1:7777" }, { cOpts, signer: digestSigning });
  print({ scheme, command: "faces/create", statusCode });
}

/** How often the window was reduced for a mark: with a timeout so long there is no other cause. */
async function marksOn({ fw, scheme }, names) {
  class Counting extends TcpCubic {
    cuts = 0;
    decrease(now) {
      this.cuts += 1;
      super.decrease(now);
    }
  }
  const rtte = { initRto: 10_000, minRto: 10_000 };
  let marked = 0;
  fw.addEventListener("pktrx", ({ packet }) => {
    marked += packet.congestionMark ? 1 : 0;
  });
  for (const name of names) {
    const ca = new Counting();
    const got = await getObject(fw, name, { ca, rtte });
    print({ scheme, name, got: got.length, cuts: ca.cuts, marked });
  }
}

const [,, verb, ...rest] = process.argv;
const uris = rest.filter((arg) => arg.includes("://"));
const names = rest.filter((arg) => !arg.includes("://"));
const peers = await Promise.all(uris.map((uri) => connect(uri)));
if (verb === "serve") {
  await Promise.all(peers.map((peer) => serveOn(peer)));
  print({ serving: uris });
  setInterval(() => undefined, 1000);
} else {
  const work = { consume: consumeOn, status: statusOn, marks: marksOn }[verb];
  await Promise.all(peers.map((peer) => work(peer, names)));
  process.exit(0);
}
