import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { Session } from '../../../src/store/etcd/wire/auth-token.ts';
import { Connection } from '../../../src/store/etcd/wire/channel.ts';
import { deadlineIn, READY } from '../../../src/store/etcd/wire/deadline.ts';
import { Endpoint } from '../../../src/store/etcd/wire/endpoints.ts';
import { versionReader } from '../../../src/store/etcd/wire/server-version.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { addUser, forgetTokens } from '../../support/etcd/etcd-users.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { issuedBy, selfSigned } from '../../support/http/certificates.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { present, put, writes } from '../conformance/harness.ts';
import { held } from '../conformance/holds.ts';
import { record } from '../conformance/recorder.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
/** Nothing depends on when a call gives up, but where it is given less. */
const deadlineMs = 20_000;
/** Of a server that is refused: half of it is waited, while the handshake is tried again. */
const refusedMs = 10_000;

test.each([
  ['127.0.0.1', false, 'an address is no name of a server (RFC 6066, 3), and Node warns of one'],
  ['localhost', 'localhost', 'a name is one'],
])('%s is asked for as %s: %s', async (host, named, _why) => {
  const directory = scratchDirectory('server-names');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const own = selfSigned(directory, 'etcd', { names: 'IP:127.0.0.1,DNS:localhost' });
  const server = createServer({ ...own, ALPNProtocols: ['h2'] }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connection = new Connection('KV', `https://${host}:${port}`, { ca: Buffer.from(own.cert) });
  onTestFinished(() => connection.close());
  void connection.connect(deadlineIn(deadlineMs));
  const [socket] = (await once(server, 'secureConnection')) as [TLSSocket];
  expect(socket.servername).toBe(named);
  socket.destroy();
});

describe.skipIf(binary === undefined)(`etcd with certificates${skipped}`, () => {
  let cluster: EtcdCluster;
  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', tls: true, unsafeNoFsync: true });
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  test('a client with a certificate is let in, for reads, commits and watches', async () => {
    const warnings: string[] = [];
    const warn = (message: string) => warnings.push(message);
    const tls = client(cluster);
    await using store = await openEtcdStore({ endpoints: cluster.urls, prefix: 'm/', tls, warn, deadlineMs });
    const revision = await writes(store, put('t/a'));
    using recording = await record(store, 't/', revision);
    await recording.recorder.untilChanges(1);
    expect(warnings).toEqual([]);
  });

  test('one without is told why not', async () => {
    const { ca } = client(cluster);
    const opening = openEtcdStore({ endpoints: cluster.urls, prefix: 'm/', tls: { ca }, deadlineMs: refusedMs });
    await expect(opening).rejects.toMatchObject({ reason: 'unreachable' });
  });

  test('a server of another authority is not trusted', async () => {
    const { certificate, key } = client(cluster);
    const opening = openEtcdStore({
      endpoints: cluster.urls,
      prefix: 'm/',
      tls: { certificate, key },
      deadlineMs: refusedMs,
    });
    await expect(opening).rejects.toMatchObject({
      reason: 'unreachable',
      message: expect.stringMatching(/certificate/) as string,
    });
  });

  test('a call that waits for its token goes over the connection that replaced the one from before', async () => {
    const tls = client(cluster);
    const gate = Promise.withResolvers<void>();
    class LateToken extends Connection {
      override async exec<T>(): Promise<T> {
        await gate.promise;
        return { token: 'late' } as T;
      }
    }
    const [{ url }, until] = [cluster.member, deadlineIn(deadlineMs)];
    const session = new Session(() => new LateToken('Auth', url, tls), limited);
    const connection = new Connection('KV', url, tls, session);
    expect(await connection.connect(until)).toBeUndefined();
    const calls = [
      connection.exec('KV', 'range', { key: Buffer.from('a') }, { until }),
      connection.withConnection('KV', ({ client: used }) => used.getChannel().getConnectivityState(false)),
    ];
    const { cert, key } = issuedBy(cluster.directory, 'ca', 'renewed');
    await connection.replaceTls({ ca: tls.ca, certificate: Buffer.from(cert), key: Buffer.from(key) }, until);
    gate.resolve();
    expect(await Promise.all(calls)).toEqual([expect.objectContaining({ count: '0' }), READY]);
    connection.close();
  });

  test('a user who may not ask for the status reads the version over HTTPS', async () => {
    const endpoint = new Endpoint(cluster.member.url, undefined, undefined);
    expect(await versionReader(client(cluster), deadlineMs)(endpoint)).toMatch(/^3\.6\.\d+$/);
    expect(await versionReader(undefined, 500)(endpoint)).toBeUndefined();
    endpoint.close();
  });
});

const limited = { username: 'muster', password: 'correct horse' };

describe.skipIf(binary === undefined)(`etcd with users${skipped}`, () => {
  let cluster: EtcdCluster;
  beforeAll(async () => {
    cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    await addUser(cluster, limited, 'muster/');
  });
  afterAll(async () => cluster[Symbol.asyncDispose]());

  const options = (auth?: { username: string; password: string }) => ({
    endpoints: cluster.urls,
    prefix: 'muster/',
    deadlineMs,
    ...(auth && { auth }),
  });
  test('a user limited to the prefix can do all but compact', async () => {
    await using store = await openEtcdStore(options(limited));
    const revision = await writes(store, put('t/a'));
    using recording = await record(store, '', revision);
    await recording.recorder.untilChanges(2);
    expect(await store.head()).toMatchObject({ revision });
    // The user may not ask for the status: etcd's metrics tell it.
    expect(store.fullness()).toBeGreaterThan(0);
    expect(store.fullness()).toBeLessThan(0.5);
    await expect(store.compact(revision)).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'refused' });
    expect(await store.listAt({ prefix: 't/', limit: 1 }, revision)).toMatchObject({ revision });
    const holder = await held(store.hold(rawKey('t/leader'), 'v', 20_000));
    expect(await holder.rewrite('w')).toBe('written');
    await holder.release();
    expect(await store.get('t/leader')).toBeUndefined();
  });

  test('a prefix that the user may not touch is refused at once', async () => {
    const elsewhere = { ...options(limited), prefix: 'other/' };
    await expect(openEtcdStore(elsewhere)).rejects.toMatchObject({
      reason: 'refused',
      message: expect.stringMatching(/permission denied/) as string,
    });
  });

  test('a wrong password is refused in words, without the password', async () => {
    const opening = openEtcdStore(options({ username: 'muster', password: 'battery staple' }));
    await expect(opening).rejects.toMatchObject({
      name: 'StoreUnavailable',
      reason: 'refused',
      message: expect.stringMatching(/password/) as string,
    });
    await expect(opening).rejects.not.toThrow('battery staple');
  });

  test('no user at all is refused', async () => {
    await expect(openEtcdStore(options())).rejects.toMatchObject({ reason: 'refused' });
  });

  test('a token that etcd forgot is replaced without anybody noticing, for reads, commits and watches', async () => {
    await using store = await openEtcdStore(options(limited));
    await using other = await openEtcdStore(options(limited));
    await using third = await openEtcdStore(options(limited));
    const before = await writes(store, put('t/before'));
    const holder = await held(store.hold(rawKey('t/leader'), 'v', 20_000));
    await forgetTokens(cluster);
    const after = await writes(store, put('t/after'));
    expect(after).toBeGreaterThan(before);
    expect(await present(other, 't/after')).toMatchObject({ revision: after });
    expect(await holder.rewrite('w')).toBe('written');
    await holder.release();
    // The first watch is refused for its token; what it learns serves the next.
    await record(third, 't/', after).then(
      (recording) => recording[Symbol.dispose](),
      () => undefined,
    );
    using recording = await record(third, 't/', after);
    await recording.recorder.untilChanges(1);
  });
});

function client({ certificates }: EtcdCluster): { ca: Buffer; certificate: Buffer; key: Buffer } {
  if (!certificates) throw new Error('the cluster has no certificates');
  const { ca, certificate, key } = certificates;
  return { ca, certificate, key };
}
