import { randomBytes } from 'node:crypto';
import { deflateRawSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerErrorResponseType } from '../../../src/opamp/generated/opamp_pb.ts';
import { agentMessageBytes } from '../../../src/opamp/messages.ts';
import { described, OpampAgent, post, REPORTS } from '../../support/opamp/agent.ts';
import { startedAgent } from '../../support/opamp/fleet.ts';
import { changeAccount, deleteApp, metric, readApp, revoke, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { runs } from '../../support/run/effort.ts';

const MIB = 1_048_576;

/** A field of the protocol that Muster has no use for, in wire type 2: `effective_config` is 6. */
function lengthDelimited(field: number, bytes: Uint8Array): Uint8Array {
  const varint: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    varint.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...varint]), bytes]);
}

onEachBackend('the endpoint of OpAMP', (backend) => {
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
      wrapStore: (real) => (store = faultyForRequests(real)),
    });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  /** The state of agents that was written; versions are written in the background. */
  const writes = (): number =>
    store.changes.flatMap(({ write }) => write).filter((each) => 'put' in each && /^(?:opamp|ack)\//.test(each.put))
      .length;

  describe('who is refused', () => {
    test.each<[string | undefined, string]>([
      [undefined, 'no bearer'],
      ['', 'an empty one'],
      ['mst_dev_unknown', 'no credential by its shape'],
      [`mst_dev_${'a'.repeat(43)}`, 'a credential that nobody has'],
      [`mst_code_${'a'.repeat(49)}`, 'no code by its checksum'],
    ])('%s → 401, and nothing is told (%s)', async (bearer) => {
      const refused = await post({ url: `${muster.device}/v1/opamp`, bearer, body: agentMessageBytes({}) });
      expect(refused).toMatchObject({ status: 401, code: 'invalid_credential', message: undefined });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1800);
      expect(refused.headers['www-authenticate']).toBe('Bearer');
    });

    test('a code is none while bootstrapping is off', async () => {
      const app = await createApp(muster, owner.apiKey);
      const refused = await post({
        url: `${muster.device}/v1/opamp`,
        bearer: app.enrollCode,
        body: agentMessageBytes({}),
        headers: { 'Muster-App-Id': app.appId },
      });
      expect(refused).toMatchObject({ status: 401, code: 'invalid_credential' });
      expect(await enroll(muster, app)).toMatch(/^mst_dev_/);
    });

    test('a revoked and a deleted app’s agent is refused at once, and its last contact stays', async () => {
      await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
      const [revoked, deleted] = [await startedAgent(muster, owner), await startedAgent(muster, owner)];
      await revoke(muster, owner.apiKey, revoked.appId);
      await deleteApp(muster, owner.apiKey, deleted.appId);
      for (const { agent } of [revoked, deleted]) {
        const answer = await agent.send({ remoteConfigStatus: {} });
        expect(answer).toMatchObject({ status: 401, code: 'invalid_credential' });
        expect(Buffer.from(answer.bytes).toString()).not.toContain('collector-secret');
      }
    });

    test('a disabled account’s agent is refused, and goes on once the account is enabled', async () => {
      const own = await tenant(muster);
      const { agent } = await startedAgent(muster, own);
      await changeAccount(muster, own.accountId, { disabled: true });
      expect(await agent.send()).toMatchObject({ status: 401, code: 'account_disabled' });
      await changeAccount(muster, own.accountId, { disabled: false });
      expect(await agent.send()).toMatchObject({ status: 200 });
    });

    test('a private daemon is told why, and that is no contact', async () => {
      const app = await createApp(muster, owner.apiKey);
      const agent = new OpampAgent(muster.device, await enroll(muster, app, 'private'));
      const before = await readApp(muster, owner.apiKey, app.appId);
      const { status, message } = await agent.send({ agentDescription: described(), remoteConfigStatus: {} });
      expect([status, message?.errorResponse?.type]).toEqual([200, ServerErrorResponseType.BAD_REQUEST]);
      expect(message?.errorResponse?.errorMessage).toContain('private');
      expect(message?.remoteConfig).toBeUndefined();
      expect(await readApp(muster, owner.apiKey, app.appId)).toEqual(before);
    });

    test('two credentials at once are none', async () => {
      const { agent } = await startedAgent(muster, owner);
      const answer = await post({
        url: agent.url,
        body: agent.bytes(),
        headers: { Authorization: `Bearer ${agent.bearer}, Bearer ${agent.bearer}` },
      });
      expect(answer).toMatchObject({ status: 401 });
    });
  });

  describe('what is refused', () => {
    test.each(['GET', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])('%s → 404 with Allow: POST', async (method) => {
      const { agent } = await startedAgent(muster, owner);
      const answer = await post({ url: agent.url, bearer: agent.bearer, body: agent.bytes(), method });
      expect(answer.status).toBe(404);
      expect(answer.headers.allow).toBe('POST');
    });

    test.each([
      ['application/json', 400, 'JSON'],
      ['application/x-protobuf-not', 400, 'another type that begins alike'],
      ['', 400, 'none'],
      ['Application/X-Protobuf; charset=utf-8', 200, 'the type, in other letters and with a parameter'],
    ])('Content-Type %j → %i (%s)', async (type, status) => {
      const { agent } = await startedAgent(muster, owner);
      const before = writes();
      const answer = await agent.sendBytes(agent.bytes(), { 'Content-Type': type });
      expect(answer.status).toBe(status);
      expect(writes()).toBe(before);
    });

    test.each<[string, (agent: OpampAgent) => Uint8Array]>([
      ['junk', () => Buffer.from('this is no protobuf')],
      ['a message that is cut off', (agent) => agent.bytes({ agentDescription: described() }).subarray(0, -1)],
      ['a length beyond the end', () => Buffer.from([0x0a, 0xff, 0xff, 0x03, 1])],
      ['a field of another wire type', () => Buffer.from([0x1d, 1, 2, 3, 4, 5])],
      ['groups within groups, as deep as they go', () => Buffer.alloc(MIB, 0x63)],
      [
        'text that is not UTF-8',
        (agent) => Buffer.concat([agent.bytes(), Buffer.from([0x2a, 0x04, 0x1a, 0x02, 0xc3, 0x28])]),
      ],
      ['an attribute for every second byte', () => lengthDelimited(3, Buffer.alloc(MIB - 8, Buffer.from([0x0a, 0])))],
    ])('%s → a bad request of the protocol, and nothing is written', async (_, bytesOf) => {
      const { agent } = await startedAgent(muster, owner);
      const before = writes();
      const { status, message } = await agent.sendBytes(bytesOf(agent));
      expect([status, message?.errorResponse?.type]).toEqual([200, ServerErrorResponseType.BAD_REQUEST]);
      expect(message?.errorResponse?.errorMessage).toMatch(/^[\x20-\x7e]+$/);
      expect(writes()).toBe(before);
    });

    test('any bytes at all are answered, and nothing of them is written', async () => {
      const { agent } = await startedAgent(muster, owner);
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
          const { status } = await agent.sendBytes(bytes);
          expect(status).toBe(200);
        }),
        { numRuns: runs(30) },
      );
      const unexpected = muster.logged.filter((line) => line.includes('unexpected fault'));
      expect(unexpected).toEqual([]);
    });

    test.each([
      [MIB, 200, 'exactly 1 MiB, of an effective configuration'],
      [MIB + 1, 413, 'a byte more'],
    ])('a message of %i bytes → %i (%s)', async (bytes, status) => {
      const { agent } = await startedAgent(muster, owner);
      const own = agent.bytes();
      const filler = lengthDelimited(6, Buffer.alloc(bytes - own.length - 4, 'secret'));
      const body = Buffer.concat([own, filler]);
      expect(body.length).toBe(bytes);
      expect((await agent.sendBytes(body)).status).toBe(status);
      expect((await agent.sendBytes(body, { 'Transfer-Encoding': 'chunked' })).status).toBe(status);
      expect((await agent.sendBytes(gzipSync(body), { 'Content-Encoding': 'gzip' })).status).toBe(status);
    });

    test('a compressed message may have 256 KiB on its way', async () => {
      const { agent } = await startedAgent(muster, owner);
      const noise = gzipSync(Buffer.concat([agent.bytes(), lengthDelimited(6, randomBytes(270_000))]));
      expect(noise.length).toBeGreaterThan(262_144);
      expect((await agent.sendBytes(noise, { 'Content-Encoding': 'gzip' })).status).toBe(413);
      const less = gzipSync(Buffer.concat([agent.bytes(), lengthDelimited(6, randomBytes(250_000))]));
      expect((await agent.sendBytes(less, { 'Content-Encoding': 'gzip' })).status).toBe(200);
    });

    test.each<[string, string, (bytes: Uint8Array) => Uint8Array]>([
      ['gzip', 'bytes that are no gzip', (bytes) => bytes],
      ['gzip', 'a stream that is cut off', (bytes) => gzipSync(bytes).subarray(0, -4)],
      ['gzip', 'bytes behind the stream', (bytes) => Buffer.concat([gzipSync(bytes), Buffer.from('x')])],
      ['br', 'an encoding that is not known', (bytes) => bytes],
      ['gzip, gzip', 'two at once', (bytes) => gzipSync(gzipSync(bytes))],
    ])('Content-Encoding %s with %s → 400', async (encoding, _, encode) => {
      const { agent } = await startedAgent(muster, owner);
      const answer = await agent.sendBytes(encode(agent.bytes()), { 'Content-Encoding': encoding });
      expect(answer).toMatchObject({ status: 400, code: 'invalid_request' });
      const plain = await agent.sendBytes(deflateRawSync(agent.bytes()), { 'Content-Encoding': 'deflate' });
      expect(plain.status).toBe(200);
    });
  });

  test('an answer is compressed for an agent that takes it, where that is worth it', async () => {
    await setOtel(muster, owner.apiKey, { authHeader: 'x'.repeat(4000) });
    const app = await createApp(muster, owner.apiKey);
    const agent = new OpampAgent(muster.device, await enroll(muster, app));
    const state = { agentDescription: described(), remoteConfigStatus: {} };
    const packed = await agent.send(state, { 'Accept-Encoding': 'gzip' });
    const plain = await agent.send(state, { 'Accept-Encoding': 'gzip;q=0' });
    expect([packed.headers['content-encoding'], plain.headers['content-encoding']]).toEqual(['gzip', undefined]);
    expect(packed.message?.remoteConfig).toEqual(plain.message?.remoteConfig);
    if (plain.message) await agent.acknowledge(plain.message);
    expect((await agent.send({}, { 'Accept-Encoding': 'gzip' })).headers['content-encoding']).toBeUndefined();
  });

  test('capabilities that are lies, and numbers beyond all bounds, change nothing', async () => {
    const { agent } = await startedAgent(muster, owner);
    agent.capabilities = 2n ** 64n - 1n;
    agent.sequence = 2n ** 64n - 3n;
    expect((await agent.send({ flags: 2n ** 64n - 2n })).status).toBe(200);
    expect((await agent.send({ remoteConfigStatus: { status: 99 as never } })).status).toBe(200);
    agent.sequence = 0n;
    agent.capabilities = REPORTS;
    expect((await agent.send()).status).toBe(200);
  });

  test('ten thousand ids of one credential are two in the store', async () => {
    const { agent, appId } = await startedAgent(muster, owner);
    const ids = runs(200);
    for (let n = 0; n < ids; n += 1) {
      agent.instanceUid = randomBytes(16);
      await agent.start();
    }
    const key = `opamp/${owner.accountId}/${appId}`;
    const kept = store.changes
      .flatMap(({ write }) => write)
      .flatMap((write) => ('put' in write && write.put === key ? [write.value] : []));
    const { instances } = JSON.parse(kept.at(-1) ?? '{}') as { instances: string[] };
    expect(instances).toHaveLength(2);
    expect(instances[0]).toBe(Buffer.from(agent.instanceUid).toString('hex'));
  });

  test('the effective configuration is neither kept nor logged', async () => {
    const { agent } = await startedAgent(muster, owner);
    const secret = 'Api-Key-of-the-effective-configuration';
    const effective = lengthDelimited(6, lengthDelimited(1, lengthDelimited(2, Buffer.from(secret))));
    await agent.sendBytes(Buffer.concat([agent.bytes({ health: { healthy: true } }), effective]));
    await agent.sendBytes(Buffer.concat([Buffer.from([0xff]), effective]));
    expect(JSON.stringify(store.changes)).not.toContain(secret);
    expect(muster.logged.join('\n')).not.toContain(secret);
  });

  test('each message is counted by how it ended', async () => {
    const counted = (result: string): Promise<number> =>
      metric(muster, `muster_opamp_messages_total{result="${result}"}`);
    const results = ['unchanged', 'bad_request', 'too_large', 'invalid_credential'];
    const before = await Promise.all(results.map(counted));
    const { agent } = await startedAgent(muster, owner, REPORTS, { agentDescription: {}, remoteConfigStatus: {} });
    await agent.acknowledge(await agent.say());
    await agent.say();
    await agent.sendBytes(Buffer.from([0x0a]));
    await agent.sendBytes(Buffer.alloc(MIB + 1));
    agent.bearer = `mst_dev_${'z'.repeat(43)}`;
    await agent.send();
    const after = await Promise.all(results.map(counted));
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 1, 1]);
  });
});
