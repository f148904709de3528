import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, DEFAULT_CIPHERS, getCiphers, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { selfSigned, type SelfSigned } from '../../support/http/certificates.ts';
import { openTestListener, type TestListener } from '../../support/http/test-listener.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';

/* With which suites a listener speaks TLS: every one that this OpenSSL knows is tried. */

const ALL = getCiphers().map((name) => name.toUpperCase());
const OF_13 = ALL.filter((name) => name.startsWith('TLS_'));
const OF_12 = ALL.filter((name) => !name.startsWith('TLS_'));

let directory: string;
let certificates: Readonly<Record<'ec' | 'rsa', SelfSigned>>;
beforeAll(() => {
  directory = scratchDirectory('ciphers');
  certificates = { ec: selfSigned(directory, 'ec'), rsa: selfSigned(directory, 'rsa', { isRsa: true }) };
});
afterAll(() => rmSync(directory, { recursive: true }));

/** The suite of a handshake; undefined where there is none. */
async function handshake({ port }: TestListener, options: ConnectionOptions): Promise<string | undefined> {
  try {
    // The client offers all that it knows, weak ones as well: it is the listener that is tried.
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    await once(socket, 'secureConnect');
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  } catch {
    return undefined;
  }
}

const of12 = (listener: TestListener, suite: string): Promise<string | undefined> =>
  handshake(listener, { maxVersion: 'TLSv1.2', ciphers: `${suite}:@SECLEVEL=0` });

async function acceptedOf12(listener: TestListener): Promise<readonly string[]> {
  const accepted = [];
  for (const suite of OF_12) if ((await of12(listener, suite)) === suite) accepted.push(suite);
  return accepted.sort();
}

describe.each(['ec', 'rsa'] as const)('a listener with a key of %s', (kind) => {
  const expected = (name: string): readonly string[] => [
    `ECDHE-${name}-AES128-GCM-SHA256`,
    `ECDHE-${name}-AES256-GCM-SHA384`,
    `ECDHE-${name}-CHACHA20-POLY1305`,
  ];

  test('takes three suites of TLS 1.2, none with CBC and none without keys of its own, also when it is renewed', async () => {
    const { cert, key } = certificates[kind];
    const tls = { cert: Buffer.from(cert), key: Buffer.from(key) };
    await using opened = await openTestListener({ tls });
    // The list of those that are tried has what is refused.
    expect(OF_12).toEqual(expect.arrayContaining(['ECDHE-RSA-AES128-SHA256', 'AES128-GCM-SHA256', 'AES256-SHA']));
    const names = expected(kind === 'ec' ? 'ECDSA' : 'RSA');
    expect(await acceptedOf12(opened)).toEqual(names);
    opened.listener.present(tls);
    expect(await acceptedOf12(opened)).toEqual(names);
  });

  test('takes the suites of TLS 1.3, and prefers that version', async () => {
    const { cert, key } = certificates[kind];
    await using opened = await openTestListener({ tls: { cert: Buffer.from(cert), key: Buffer.from(key) } });
    const accepted = [];
    for (const suite of OF_13) {
      if ((await handshake(opened, { minVersion: 'TLSv1.3', ciphers: suite })) === suite) accepted.push(suite);
    }
    const three = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
    expect(accepted.sort()).toEqual(three);
    expect(three).toContain(await handshake(opened, { ciphers: DEFAULT_CIPHERS }));
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      const old = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' } as const;
      expect(await handshake(opened, old)).toBeUndefined();
    }
  });
});
