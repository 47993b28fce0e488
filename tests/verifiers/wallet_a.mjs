// Opens and makes walletA tokens with libraries that others have published: `open` and `seal`, JSON in, JSON out.
import { createCipheriv, createECDH, createHash, randomBytes, webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import decrypter from "@basis-theory/apple-pay-js";
import * as asn1 from "asn1js";
import * as pki from "pkijs";

pki.setEngine("node", new pki.CryptoEngine({ name: "node", crypto: webcrypto }));

const exact = (buffer) => buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
const der = (pem) => Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ""), "base64");
const certificate = (pem) => pki.Certificate.fromBER(exact(der(pem)));
const base64 = (text) => Buffer.from(text, "base64");
const signedBytes = ({ data, header }) =>
  Buffer.concat([base64(header.ephemeralPublicKey), base64(data), Buffer.from(header.transactionId, "hex")]);

async function open({ token, certificatePem, privateKeyPem, rootPem }) {
  const context = new decrypter.ApplePaymentTokenContext({ merchants: [{ certificatePem, privateKeyPem }] });
  const opened = context.decrypt(token);
  const signature = pki.ContentInfo.fromBER(exact(base64(token.signature)));
  const signed = new pki.SignedData({ schema: signature.content });
  const verified = await signed.verify({
    signer: 0, data: exact(signedBytes(token)), trustedCerts: [certificate(rootPem)], checkChain: true,
  });
  return { opened, verified };
}

async function seal({ plain, publicKeyPem, merchantId, deviceKeyPem, certificates, signedAt, indefinite }) {
  const ephemeral = createECDH("prime256v1");
  const point = ephemeral.generateKeys();
  const spki = der(publicKeyPem);
  const shared = ephemeral.computeSecret(spki.subarray(-65));
  const info = Buffer.concat([
    Buffer.from("\x0did-aes256-GCMApple", "latin1"), createHash("sha256").update(merchantId).digest(),
  ]);
  const key = createHash("sha256").update(Buffer.from([0, 0, 0, 1])).update(shared).update(info).digest();
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(16));
  const data = Buffer.concat([cipher.update(JSON.stringify(plain)), cipher.final(), cipher.getAuthTag()]);
  const token = {
    version: "EC_v1",
    data: data.toString("base64"),
    header: {
      ephemeralPublicKey: Buffer.concat([spki.subarray(0, -65), point]).toString("base64"),
      publicKeyHash: createHash("sha256").update(spki).digest("base64"),
      transactionId: randomBytes(32).toString("hex"),
    },
  };
  const content = signedBytes(token);
  const [leaf, intermediate] = certificates.map(certificate);
  const attribute = (type, value) => new pki.Attribute({ type, values: [value] });
  const signed = new pki.SignedData({
    version: 1,
    encapContentInfo: new pki.EncapsulatedContentInfo({ eContentType: "1.2.840.113549.1.7.1" }),
    signerInfos: [new pki.SignerInfo({
      version: 1,
      sid: new pki.IssuerAndSerialNumber({ issuer: leaf.issuer, serialNumber: leaf.serialNumber }),
      signedAttrs: new pki.SignedAndUnsignedAttributes({
        type: 0,
        attributes: [
          attribute("1.2.840.113549.1.9.3", new asn1.ObjectIdentifier({ value: "1.2.840.113549.1.7.1" })),
          attribute("1.2.840.113549.1.9.5", new asn1.UTCTime({ valueDate: new Date(signedAt) })),
          attribute("1.2.840.113549.1.9.4", new asn1.OctetString({
            valueHex: exact(createHash("sha256").update(content).digest()),
          })),
        ],
      }),
    })],
    certificates: [leaf, intermediate],
  });
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const deviceKey = await webcrypto.subtle.importKey("pkcs8", der(deviceKeyPem), algorithm, true, ["sign"]);
  await signed.sign(deviceKey, 0, "SHA-256", exact(content));
  const envelope = new pki.ContentInfo({ contentType: "1.2.840.113549.1.7.2", content: signed.toSchema(true) }).toSchema();
  if (indefinite) {
    // Devices leave the lengths of the outer parts open.
    const tagged = envelope.valueBlock.value[1];
    for (const part of [envelope, tagged, tagged.valueBlock.value[0]]) part.lenBlock.isIndefiniteForm = true;
  }
  token.signature = Buffer.from(envelope.toBER(false)).toString("base64");
  return token;
}

const asked = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(await { open, seal }[process.argv[2]](asked)));
