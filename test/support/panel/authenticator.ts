import { createHash, createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';

/** What a test makes an authenticator do that none does by itself. */
export interface Misbehaviour {
  /** The page that asks, as the browser tells it; by default the panel's own. */
  readonly origin?: string;
  /** The page of the panel was framed by one of another origin. */
  readonly crossOrigin?: boolean;
  readonly topOrigin?: string;
  /** Without it nobody was asked for a finger or a PIN. */
  readonly isUserVerified?: boolean;
  /** The signature counter to tell, in place of the next one. */
  readonly counter?: number;
  /** Answers to another challenge than the one in the options. */
  readonly challenge?: string;
}

interface Options {
  readonly challenge: string;
  readonly rp?: { readonly id: string };
  readonly rpId?: string;
  readonly user?: { readonly id: string };
}

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 } as const;

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const base64url = (bytes: Buffer): string => bytes.toString('base64url');

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A text of fewer than 24 bytes, as CBOR. */
const cborText = (text: string): Buffer => Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
/** Bytes of fewer than 65,536, as CBOR. */
const cborBytes = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x59, bytes.length >> 8, bytes.length & 0xff]), bytes]);

/** A passkey in software, with the keys of P-256 (ES256): what a browser answers to the options of WebAuthn. */
export class Authenticator {
  readonly id = base64url(randomBytes(32));
  readonly #key: KeyObject;
  readonly #publicKey: Buffer;
  #counter = 0;
  #userHandle = '';

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    this.#key = privateKey;
    // COSE: kty EC2, alg ES256, crv P-256, x, y.
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
    const between = Buffer.from([0x22, 0x58, 0x20]);
    this.#publicKey = Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')]);
  }

  /** Makes the passkey, as `navigator.credentials.create` does. */
  create(options: unknown, origin: string, misbehaviour: Misbehaviour = {}): object {
    const { rp, user } = options as Options;
    this.#userHandle = user?.id ?? '';
    const clientData = this.#clientData('webauthn.create', options, origin, misbehaviour);
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.from([0, id.length]);
    const data = this.#data(rp?.id ?? '', FLAGS.attested, misbehaviour);
    const attested = Buffer.concat([data, Buffer.alloc(16), length, id, this.#publicKey]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      cborText('fmt'),
      cborText('none'),
      cborText('attStmt'),
      Buffer.from([0xa0]),
      cborText('authData'),
      cborBytes(attested),
    ]);
    return this.#answer({
      clientDataJSON: base64url(clientData),
      attestationObject: base64url(attestation),
      transports: ['internal'],
    });
  }

  /** Signs a challenge, as `navigator.credentials.get` does. */
  get(options: unknown, origin: string, misbehaviour: Misbehaviour = {}): object {
    const { rpId = '' } = options as Options;
    this.#counter += 1;
    const clientData = this.#clientData('webauthn.get', options, origin, misbehaviour);
    const data = this.#data(rpId, 0, misbehaviour);
    const signature = createSign('sha256').update(data).update(sha256(clientData)).sign(this.#key);
    return this.#answer({
      clientDataJSON: base64url(clientData),
      authenticatorData: base64url(data),
      signature: base64url(signature),
      userHandle: this.#userHandle,
    });
  }

  #answer(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #clientData(type: string, options: unknown, origin: string, misbehaviour: Misbehaviour): Buffer {
    const { challenge, crossOrigin = false, topOrigin } = { ...(options as Options), ...misbehaviour };
    return Buffer.from(
      JSON.stringify({ type, challenge, origin: misbehaviour.origin ?? origin, crossOrigin, topOrigin }),
    );
  }

  #data(rpId: string, further: number, { isUserVerified = true, counter = this.#counter }: Misbehaviour): Buffer {
    const flags = FLAGS.present | (isUserVerified ? FLAGS.verified : 0) | further;
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), uint32(counter)]);
  }
}
