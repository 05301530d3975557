// NDNts as owner of keys: node keys.mjs check FOLDER | make FOLDER
//
// check: FOLDER has ours, `cert` (binary) and `safebag` (binary, passphrase `passphrase`); the certificate must verify
// itself, and what the key out of the SafeBag signs must verify by the certificate.
// make: writes certificate and SafeBag of a new key, for each algorithm.
import { readFileSync, writeFileSync } from "node:fs";
import { Certificate, createVerifier, ECDSA, Ed25519, generateSigningKey } from "@ndn/keychain";
import { SafeBag } from "@ndn/ndnsec";
import { Data } from "@ndn/packet";
import { Decoder, Encoder } from "@ndn/tlv";
import { toUtf8 } from "@ndn/util";

const ALGORITHMS = { ed25519: Ed25519, ecdsa: ECDSA };
const [,, verb, folder] = process.argv;

async function check() {
  const cert = Certificate.fromData(Decoder.decode(readFileSync(`${folder}/cert`), Data));
  const algoList = Object.values(ALGORITHMS);
  const verifier = await createVerifier(cert, { algoList });
  await verifier.verify(cert.data);
  const bag = Decoder.decode(readFileSync(`${folder}/safebag`), SafeBag);
  const pkcs8 = await bag.decryptKey("passphrase");
  const [algo] = await cert.importPublicKey(algoList);
  const keyName = cert.name.getPrefix(-2);
  const [privateKey] = await generateSigningKey(keyName, algo, { importPkcs8: [pkcs8, cert.publicKeySpki] });
  const data = new Data("/D", toUtf8("x"));
  await privateKey.sign(data);
  await verifier.verify(data);
  console.log(`verified ${cert.isSelfSigned} ${Encoder.encode(cert.data).length}`);
}

async function make() {
  for (const [label, algo] of Object.entries(ALGORITHMS)) {
    const pair = await crypto.subtle.generateKey(
      algo === ECDSA ? { name: "ECDSA", namedCurve: "P-256" } : { name: "Ed25519" }, true, ["sign", "verify"]);
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
    const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
    const [privateKey, publicKey] = await generateSigningKey(`/ndnts/${label}`, algo, { importPkcs8: [pkcs8, spki] });
    const cert = await Certificate.selfSign({ privateKey, publicKey });
    writeFileSync(`${folder}/${label}.cert`, Encoder.encode(cert.data));
    writeFileSync(`${folder}/${label}.safebag`, Encoder.encode(await SafeBag.create(cert, pkcs8, "passphrase")));
  }
}

await { check, make }[verb]();
