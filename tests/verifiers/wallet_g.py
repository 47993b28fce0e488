# Opens walletG tokens with a library that others have published, and makes them with general cryptography: `open` and
# `seal`, JSON in, JSON out.
import base64
import json
import os
import sys

from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from google_pay_token_decryption import GooglePayTokenDecryptor

X962 = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
SPKI = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def text(data):
    return base64.b64encode(data).decode()


def private(pem):
    return serialization.load_pem_private_key(pem.encode(), None)


def told(*parts):
    return b"".join(len(part).to_bytes(4, "little") + part.encode() for part in parts)


def sign(key, *parts):
    return text(key.sign(told(*parts), ec.ECDSA(hashes.SHA256())))


def open_(token, roots, recipient, privateKeyPem):
    der = private(privateKeyPem).private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return GooglePayTokenDecryptor(roots, recipient, text(der)).decrypt_token(token)


def seal(plain, version, gatewayKeyPem, recipient, rootKeyPem, keyExpiration):
    size = {"ECv1": 16, "ECv2": 32}[version]
    ephemeral = ec.generate_private_key(ec.SECP256R1())
    point = ephemeral.public_key().public_bytes(*X962)
    shared = ephemeral.exchange(ec.ECDH(), private(gatewayKeyPem).public_key())
    keys = HKDF(hashes.SHA256(), 2 * size, bytes(32), b"Google").derive(point + shared)
    message = Cipher(algorithms.AES(keys[:size]), modes.CTR(bytes(16))).encryptor().update(json.dumps(plain).encode())
    tag = hmac.HMAC(keys[size:], hashes.SHA256())
    tag.update(message)
    signed = json.dumps(
        {"tag": text(tag.finalize()), "ephemeralPublicKey": text(point), "encryptedMessage": text(message)}
    )
    root = private(rootKeyPem)
    if version == "ECv1":
        signature = sign(root, "Google", recipient, version, signed)
        return {"protocolVersion": version, "signature": signature, "signedMessage": signed}
    intermediate = ec.generate_private_key(ec.SECP256R1())
    key = json.dumps(
        {"keyValue": text(intermediate.public_key().public_bytes(*SPKI)), "keyExpiration": keyExpiration}
    )
    # A signature of an unknown root stands beside the right one while roots change.
    signatures = [text(os.urandom(70)), sign(root, "Google", version, key)]
    return {
        "protocolVersion": version,
        "signature": sign(intermediate, "Google", recipient, version, signed),
        "intermediateSigningKey": {"signedKey": key, "signatures": signatures},
        "signedMessage": signed,
    }


print(json.dumps({"open": open_, "seal": seal}[sys.argv[1]](**json.load(sys.stdin))))
