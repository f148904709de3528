import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { readConfig } from '../../../../src/config/config.ts';
import { VARIABLES } from '../../../../src/config/environment.ts';
import { PROBES, PUBLIC } from '../../../../src/api/operator/ops-server.ts';
import { systemRandom } from '../../../../src/domain/credentials/random-ids.ts';
import { createEnvelope } from '../../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../../src/domain/keys/key-ring.ts';
import { openHeader } from '../../../../src/domain/otel-config/otel-config.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { LISTENER_NAMES } from '../../../../src/config/listeners.ts';
import type { Store } from '../../../../src/store/port.ts';
import { send } from '../../doors/send.ts';
import { selfSigned } from '../../http/certificates.ts';
import { asOperator } from '../../panel/visitor.ts';
import { tamper } from '../../records/audit.ts';
import { decide, detection, listReviews, sendDetections } from '../../records/detections.ts';
import { scratchDirectory } from '../../run/scratch-directory.ts';
import { entriesOf } from '../../service/accounts.ts';
import { call, createApp, KEY_FILE_TEXT, Muster, poll, tenant, type Answer } from '../../service/muster.ts';
import { FakeClock } from '../../time/fake-clock.ts';
import { until } from '../../time/until.ts';
import { configure, enrolled, type Checks } from './checks.ts';

/* Sentences about listeners, encryption and the audit. */

const SECOND_MS = 1000;
/** The leader looks every few seconds. */
const LOOKS = 60;
const HEADER = 'Bearer collector-secret-4711';

/** The line by which openssl tells that a server has asked for a certificate. */
const ASKED = /^(?:Requested Signature Algorithms|Acceptable client certificate CA names|Client Certificate Types):?/m;

/** Whether the server asks its clients for a certificate. */
async function asksForCertificate(port: number): Promise<boolean> {
  const running = promisify(execFile)('openssl', ['s_client', '-connect', `127.0.0.1:${port}`]);
  running.child.stdin?.end();
  const { stdout } = await running;
  expect(stdout).toContain('BEGIN CERTIFICATE');
  return ASKED.test(stdout);
}

/** A server that does ask: the line is there. */
async function asks({ cert, key }: { cert: string; key: string }): Promise<boolean> {
  const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await asksForCertificate((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

/** A Muster that keeps the store within the reach of a test. */
async function withStore(clock?: FakeClock): Promise<{ muster: Muster; store: Store } & AsyncDisposable> {
  let store: Store | undefined;
  const muster = await Muster.start({ ...(clock && { clock }), wrapStore: (opened) => (store = opened) });
  if (!store) throw new Error('The service has opened no store.');
  return { muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

export const REACH: Checks = {
  'The ids of accounts that are near their rate limit are not kept from strangers on the ops listener: `/metrics` has them.':
    async () => {
      const clock = new FakeClock(Date.now());
      await using muster = await Muster.start({ clock });
      const { accountId, apiKey } = await tenant(muster);
      for (const { path } of [...PROBES, ...PUBLIC])
        expect([path, (await send(`${muster.ops}${path}`, { method: 'GET' })).status]).toEqual([path, 200]);
      const metrics = async (): Promise<string> => (await send(`${muster.ops}/metrics`, { method: 'GET' })).text;
      expect(await metrics()).not.toContain(accountId);
      // An account that goes on is near its limit at each look of the leader.
      let isNamed = false;
      for (let second = 0; second < LOOKS && !isNamed; second += 1) {
        for (let i = 0; i < 20; i += 1) await call(`${muster.api}/v1/apps`, { token: apiKey });
        clock.advance(SECOND_MS);
        isNamed = (await metrics()).includes(accountId);
      }
      expect(isNamed).toBe(true);
    },

  'No listener encrypts without a certificate, and none asks its clients for one.': async () => {
    expect(readConfig({}).tls).toEqual(Object.fromEntries(LISTENER_NAMES.map((name) => [name, undefined])));
    const names = LISTENER_NAMES.flatMap((name) =>
      ['CERT_FILE', 'KEY_FILE'].map((rest) => `MUSTER_${name.toUpperCase()}_TLS_${rest}`),
    );
    expect(VARIABLES.filter((name) => name.includes('_TLS_')).toSorted()).toEqual(names.toSorted());
    const folder = scratchDirectory('not-promised');
    const { cert, key } = selfSigned(folder, 'one');
    const files = { CERT_FILE: join(folder, 'tls.crt'), KEY_FILE: join(folder, 'tls.key') };
    writeFileSync(files.CERT_FILE, cert);
    writeFileSync(files.KEY_FILE, key, { mode: 0o600 });
    const env = Object.fromEntries(
      names.map((name) => [name, name.endsWith('CERT_FILE') ? files.CERT_FILE : files.KEY_FILE]),
    );
    {
      await using plain = await Muster.start();
      for (const name of LISTENER_NAMES)
        expect((await send(`http://127.0.0.1:${plain.service[name].port}/`, { method: 'GET' })).status).toBeGreaterThan(
          0,
        );
    }
    expect(await asks({ cert, key })).toBe(true);
    await using encrypted = await Muster.start({ env });
    for (const name of LISTENER_NAMES)
      expect([name, await asksForCertificate(encrypted.service[name].port)]).toEqual([name, false]);
    rmSync(folder, { recursive: true });
  },

  'Answers to daemons are not signed.': async () => {
    await using muster = await Muster.start();
    const { apiKey, credential } = await enrolled(muster);
    expect(await configure(muster, apiKey, 'https://otel.example.com', HEADER)).toBe(200);
    const answer = await poll(muster, credential);
    // All that it is told, and each field of the answer: one that vouches for them would be another one.
    expect(Object.keys(answer.body).toSorted()).toEqual(['otel', 'pollIntervalSeconds', 'revision']);
    expect(Object.keys(answer.body['otel'] as object).toSorted()).toEqual([
      'enabled',
      'endpoint',
      'evidenceLevel',
      'headers',
    ]);
    expect([...answer.headers.keys()].toSorted()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-security-policy',
      'content-type',
      'date',
      'etag',
      'keep-alive',
      'retry-after',
      'x-content-type-options',
      'x-request-id',
    ]);
  },

  'Names, notes, evidence and audit entries are not encrypted, in the store and in backups.': async () => {
    await using it = await withStore();
    const { muster, store } = it;
    const { accountId, apiKey, credential } = await enrolled(muster);
    await createApp(muster, apiKey, 'a name in clear');
    expect(await configure(muster, apiKey, 'https://otel.example.com', HEADER)).toBe(200);
    const evidence = { hash: 'sha256:00', redacted: 'evidence in part', full: 'evidence in clear' };
    expect((await sendDetections(muster, credential, [detection({ evidence })])).status).toBe(202);
    const [review] = await listReviews(muster, accountId);
    const decided = await decide(muster, accountId, review?.entryId ?? '', {
      status: 'dismissed',
      note: 'a note in clear',
    });
    expect(decided.status).toBe(200);
    const stored = (await entriesOf(store, '')).map(({ value }) => value).join('\n');
    const backup = (await asOperator(muster, '/backup')).text.replaceAll('\\"', '"');
    for (const text of [stored, backup]) {
      for (const clear of ['a name in clear', 'a note in clear', evidence.full, '"action":"app.enrolled"'])
        expect([clear, text.includes(clear)]).toEqual([clear, true]);
      // The neighbour, which is encrypted.
      expect(text).not.toContain(HEADER);
    }
  },

  'Encryption does not hold against whoever has the key file beside the store or a backup.': async () => {
    await using muster = await Muster.start();
    const { accountId, apiKey } = await tenant(muster);
    expect(await configure(muster, apiKey, 'https://otel.example.com', HEADER)).toBe(200);
    const { text } = await asOperator(muster, '/backup');
    const lines = text.split('\n').filter((line) => line.startsWith('['));
    const entries = new Map(
      lines
        .map((line) => JSON.parse(line) as [key: string, value: string, revision: number])
        .map(([key, value]) => [key, value]),
    );
    const record = KEYS.otel.schema.parse(JSON.parse(entries.get(KEYS.otel(accountId)) ?? ''));
    const opened = (keys: string): string | undefined =>
      openHeader(createEnvelope(parseKeyRing(keys), systemRandom()), accountId, record)?.reveal();
    expect(opened(KEY_FILE_TEXT)).toBe(HEADER);
    expect(opened(`1:${Buffer.alloc(32, 9).toString('base64')}\n`)).toBeUndefined();
  },

  'A chain of the audit that a writer of the store has begun anew does not show it.': async () => {
    const clock = new FakeClock();
    await using it = await withStore(clock);
    const { muster, store } = it;
    const { accountId, apiKey } = await tenant(muster);
    clock.advance(SECOND_MS);
    await createApp(muster, apiKey);
    const verified = async (): Promise<Answer['body']> =>
      (await asOperator(muster, `/accounts/${accountId}/audit/verification`)).body;
    const sealed = (): Promise<void> =>
      until(async () => {
        clock.advance(SECOND_MS);
        return (await verified())['unsealed'] === 0;
      });
    await sealed();
    const before = await verified();
    expect(before['faultCount']).toBe(0);

    const entries = await entriesOf(store, KEYS.audit.under(accountId));
    const seals = await entriesOf(store, KEYS.seal.under(accountId));
    const [, second] = entries;
    await tamper(store, second?.key ?? '', second?.value.replace('"operator"', '"nobody"'));
    // With the chain as it was it shows.
    expect((await verified())['faultCount']).toBe(1);
    for (const key of [...seals.map((seal) => seal.key), KEYS.chain(accountId)]) await tamper(store, key, undefined);
    for (const { key, value } of entries)
      await tamper(store, key, key === second?.key ? value.replace('"operator"', '"nobody"') : value);
    await sealed();
    const after = await verified();
    expect([after['faultCount'], after['entries']]).toEqual([0, before['entries']]);
    // A head that is kept elsewhere tells it.
    expect(after['head']).not.toEqual(before['head']);
  },
};
