import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { isLeftOut } from '../../../src/domain/backup/backup.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { AGENT_CAN, REPORT_FULL_STATE } from '../../../src/opamp/capabilities.ts';
import { RemoteConfigStatuses, type ServerToAgent } from '../../../src/opamp/generated/opamp_pb.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { described, hashOf, offered, OpampAgent, post, REPORTS } from '../../support/opamp/agent.ts';
import { rolloutOf, startedAgent } from '../../support/opamp/fleet.ts';
import { auditOf, changeAccount, metric, purgeOtel, revoke, setOtel } from '../../support/service/daemon.ts';
import { createApp, enroll, tenant, type Answer, type Muster, type Tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore, type Operation } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const { FAILED } = RemoteConfigStatuses;
const TEN_MINUTES_MS = 600_000;
/** As it enrolled: no version is written in the background. */
const description = described({ 'service.version': '1.0.0', 'os.type': 'linux' });
const STARTED = { agentDescription: description, remoteConfigStatus: {} };
const asks = ({ flags }: ServerToAgent): boolean => (flags & REPORT_FULL_STATE) !== 0n;
/** Whether the agent can get to what it should have. */
const isHelped = (answers: readonly ServerToAgent[]): boolean =>
  answers.some((answer) => asks(answer) || offered(answer) !== undefined);

onEachBackend('what is lost, or comes late', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({
      clock,
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000', MUSTER_OPAMP_URL: 'https://fleet.example.com/v1/opamp' },
      wrapStore: (real) => (store = faultyForRequests(real)),
    });
  });
  afterEach(() => {
    store.down.clear();
    store.trouble = 'unreachable';
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function enterprise(): Promise<void> {
    owner = await tenant(muster);
    await setOtel(muster, owner.apiKey, { authHeader: 'collector-secret' });
  }
  /** The agent of the machine after a restart that has kept nothing but the credential. */
  const restarted = (agent: OpampAgent): OpampAgent => new OpampAgent(muster.device, agent.bearer, agent.capabilities);

  describe('a restart', () => {
    test.each<[string, bigint]>([
      ['that reports nothing of a configuration that it does not have, as the client of Python', REPORTS],
      ['that never reports', AGENT_CAN.reportStatus | AGENT_CAN.acceptRemoteConfig],
    ])('of an agent %s gets the configuration again', async (_, capabilities) => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner, capabilities, { agentDescription: description });
      if (capabilities === REPORTS) await agent.acknowledge(first);
      expect(offered(await restarted(agent).say({ agentDescription: description }))).toContain('otel.example.com');
    });

    test('whose first message was lost is asked for all', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner);
      await agent.acknowledge(first);
      clock.advance(TEN_MINUTES_MS);
      const next = restarted(agent);
      next.sequence = 1n;
      expect(isHelped([await next.say(), await next.say()])).toBe(true);
    });
  });

  describe('a lost message', () => {
    test('within ten minutes of the last full state is owed, and asked for then', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner, REPORTS, {});
      expect(asks(first)).toBe(true);
      await agent.acknowledge(await agent.start());
      agent.sequence += 1n;
      expect(asks(await agent.say())).toBe(false);
      clock.advance(TEN_MINUTES_MS);
      expect(asks(await agent.say())).toBe(true);
      clock.advance(TEN_MINUTES_MS);
      await agent.start();
      expect(asks(await agent.say())).toBe(false);
    });

    test('before a description alone is asked for: that is not all', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner);
      await agent.acknowledge(first);
      agent.sequence += 1n;
      expect(asks(await agent.say({ agentDescription: description }))).toBe(true);
    });

    test('is noticed on a new connection, too, where no other replica can have taken it', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner);
      await agent.acknowledge(first);
      await changeAccount(muster, owner.accountId, { disabled: true });
      const hash = first.remoteConfig?.configHash ?? new Uint8Array();
      expect((await agent.send({ remoteConfigStatus: { lastRemoteConfigHash: hash, status: FAILED } })).status).toBe(
        401,
      );
      await changeAccount(muster, owner.accountId, { disabled: false });
      // The replica learns that it is alone in its first round.
      await until(async () => {
        clock.advance(TEN_MINUTES_MS);
        agent.sequence += 1n;
        const { message } = await post({ url: agent.url, bearer: agent.bearer, body: agent.bytes() });
        return message !== undefined && asks(message);
      });
    });

    test('that had answered an offer: what has been changed back since is offered again', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner);
      await agent.acknowledge(first);
      await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
      expect(offered(await agent.say())).toBe('{}\n');
      await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
      expect(isHelped([await agent.say(), await agent.say()])).toBe(true);
    });
  });

  test('the empty configuration is offered once for a failure, whether or not the agent says a word', async () => {
    await enterprise();
    const { agent, first } = await startedAgent(muster, owner);
    const emptied = await agent.acknowledge(first, FAILED, 'broken');
    expect(offered(emptied)).toBe('{}\n');
    expect(offered(await agent.say())).toBeUndefined();
    expect(offered(await agent.say())).toBeUndefined();
    expect(offered(await agent.start())).toBe('{}\n');
  });

  describe('while an agent is decided on', () => {
    /** Has the owner or the operator act, and be answered, before the store is asked for the next time. */
    function meanwhile(operation: Operation, act: () => Promise<Answer>): { answered: Promise<Answer> } {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      store.intercept(operation, 'before', async () => resolve(await act()));
      return { answered: promise };
    }

    test.each<[string, Operation, (appId: string) => Promise<Answer>]>([
      ['a purge', 'get', () => purgeOtel(muster, owner.apiKey)],
      ['a downgrade', 'get', () => changeAccount(muster, owner.accountId, { entitlement: 'standard' })],
      ['a purge before the commit', 'commit', () => purgeOtel(muster, owner.apiKey)],
      ['a disabling before the commit', 'commit', () => changeAccount(muster, owner.accountId, { disabled: true })],
      ['a revocation', 'get', (appId) => revoke(muster, owner.apiKey, appId)],
    ])('%s that is answered lets nothing go out any more (A12, O10, O11)', async (_, operation, act) => {
      await enterprise();
      const { agent, appId } = await startedAgent(muster, owner, REPORTS, STARTED);
      const { answered } = meanwhile(operation, () => act(appId));
      const answer = await agent.send({ remoteConfigStatus: {}, health: { healthy: true } });
      expect((await answered).status).toBeLessThan(300);
      expect(Buffer.from(answer.bytes).toString()).not.toContain('collector-secret');
    });

    test('a disabling that is answered before the commit refuses an agent that is offered nothing, too', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner, REPORTS, STARTED);
      await agent.acknowledge(first);
      const { answered } = meanwhile('commit', () => changeAccount(muster, owner.accountId, { disabled: true }));
      expect(await agent.send({ health: { healthy: true } })).toMatchObject({ status: 401, code: 'account_disabled' });
      expect((await answered).status).toBe(200);
    });

    test('what was written down as asked is asked, though all is decided once more', async () => {
      await enterprise();
      const { agent, first } = await startedAgent(muster, owner, REPORTS, STARTED);
      await agent.acknowledge(first);
      await setOtel(muster, owner.apiKey, { endpoint: 'https://other.example.com' });
      agent.sequence += 5n;
      const { answered } = meanwhile('commit', () => purgeOtel(muster, owner.apiKey));
      const answer = await agent.say();
      expect((await answered).status).toBe(200);
      expect([offered(answer), asks(answer)]).toEqual(['{}\n', true]);
    });

    test('connection settings that were written down as offered are offered', async () => {
      await enterprise();
      const takes = REPORTS | AGENT_CAN.reportHeartbeat | AGENT_CAN.acceptConnectionSettings;
      const agent = new OpampAgent(muster.device, await enroll(muster, await createApp(muster, owner.apiKey)), takes);
      const { answered } = meanwhile('commit', () => purgeOtel(muster, owner.apiKey));
      const first = await agent.say(STARTED);
      expect((await answered).status).toBe(200);
      expect([first.connectionSettings === undefined, offered(first)]).toEqual([false, '{}\n']);
      expect((await agent.say(STARTED)).connectionSettings).toBeUndefined();
    });
  });

  test('three machines that take turns are told, and cost no write with each message', async () => {
    await enterprise();
    const { agent } = await startedAgent(muster, owner, REPORTS, STARTED);
    const ids = [agent.instanceUid, randomBytes(16), randomBytes(16)];
    const writes = (): number => store.changes.length;
    const takeTurns = async (): Promise<void> => {
      for (const instanceUid of [...ids, ...ids, ...ids]) {
        agent.instanceUid = instanceUid;
        await agent.say();
      }
    };
    await takeTurns();
    const before = writes();
    await takeTurns();
    expect(writes() - before).toBeLessThanOrEqual(3);
    const told = (await auditOf(muster, owner.accountId)).filter(({ action }) => action === 'credential.shared');
    expect(told).toHaveLength(1);
  });

  test('a machine that starts anew within the hour is not judged by the other one’s words', async () => {
    await enterprise();
    const { agent, first } = await startedAgent(muster, owner, REPORTS, STARTED);
    await agent.acknowledge(first);
    const [one, other] = [agent.instanceUid, randomBytes(16)];
    agent.instanceUid = other;
    await agent.say(STARTED);
    agent.instanceUid = one;
    await agent.say();
    agent.instanceUid = other;
    const again = await agent.say(STARTED);
    if (again.remoteConfig) await agent.acknowledge(again);
    // Its first message was lost.
    agent.instanceUid = randomBytes(16);
    const early = [await agent.say(), await agent.say()];
    clock.advance(61 * 60_000);
    expect(isHelped([...early, await agent.say(), await agent.say()])).toBe(true);
  });

  test('an older template that a replica has left behind is replaced after a quarter of an hour', async () => {
    await enterprise();
    const { agent, first } = await startedAgent(muster, owner, REPORTS, STARTED);
    const [content = ''] = hashOf(first).split('~');
    const hash = Buffer.from(`${content}~AAAAAAAAAAAA~${(clock.now() + 1000).toString(36)}`);
    const said = await agent.say({
      remoteConfigStatus: { lastRemoteConfigHash: hash, status: RemoteConfigStatuses.APPLIED },
    });
    expect([offered(said), offered(await agent.say())]).toEqual([undefined, undefined]);
    clock.advance(16 * 60_000);
    expect(offered(await agent.say())).toContain('otel.example.com');
  });

  describe('in a full store', () => {
    const fill = (): void => {
      store.trouble = 'full';
      store.down.add('commit');
    };

    test('settings that make an agent connect anew are not offered, since nobody would remember it', async () => {
      await enterprise();
      const takes = REPORTS | AGENT_CAN.reportHeartbeat | AGENT_CAN.acceptConnectionSettings;
      const agent = new OpampAgent(muster.device, await enroll(muster, await createApp(muster, owner.apiKey)), takes);
      fill();
      expect((await agent.start()).connectionSettings).toBeUndefined();
      store.down.clear();
      expect((await agent.start()).connectionSettings).toBeDefined();
    });

    test('an agent is asked for its full state once in ten minutes all the same', async () => {
      await enterprise();
      const agent = new OpampAgent(muster.device, await enroll(muster, await createApp(muster, owner.apiKey)));
      fill();
      const answers = [await agent.say(), await agent.say(), await agent.say()];
      expect(answers.map(asks)).toEqual([true, false, false]);
      clock.advance(TEN_MINUTES_MS);
      expect(asks(await agent.say())).toBe(true);
    });

    test('a purge reaches an agent that is at rest', async () => {
      await enterprise();
      const agent = new OpampAgent(muster.device, await enroll(muster, await createApp(muster, owner.apiKey)));
      fill();
      expect(asks(await agent.say())).toBe(true);
      await agent.acknowledge(await agent.start());
      store.down.clear();
      await purgeOtel(muster, owner.apiKey);
      fill();
      expect(isHelped([await agent.say(), await agent.say()])).toBe(true);
    });

    test('two machines on one credential are not counted with each message, since no audit has it', async () => {
      await enterprise();
      const { agent } = await startedAgent(muster, owner, REPORTS, STARTED);
      const [one, other] = [agent.instanceUid, randomBytes(16)];
      agent.instanceUid = other;
      await agent.start();
      const counted = await metric(muster, 'muster_opamp_shared_credentials_total');
      fill();
      for (const instanceUid of [one, other, one, other]) {
        agent.instanceUid = instanceUid;
        await agent.say();
      }
      expect(await metric(muster, 'muster_opamp_shared_credentials_total')).toBe(counted);
    });
  });

  test('a record that cannot be read is replaced, and the agent asked for what was in it', async () => {
    await enterprise();
    const { agent, appId } = await startedAgent(muster, owner, REPORTS, STARTED);
    const key = KEYS.opampAgent(owner.accountId, appId);
    const entry = await store.get(key);
    const write = [{ put: key, value: '{"instances":"of another version"}' }];
    await store.commit({ expect: [expectRevision(key, entry?.revision ?? 0)], write });
    clock.advance(TEN_MINUTES_MS);
    agent.sequence += 5n;
    expect(asks(await agent.say())).toBe(true);
    expect((await agent.send(STARTED)).status).toBe(200);
    expect(muster.logged.filter((line) => line.includes('unexpected fault'))).toEqual([]);
  });

  test('an error is told with nothing beside it; health counts for agents that report it alone', async () => {
    await enterprise();
    const { agent } = await startedAgent(muster, owner, AGENT_CAN.reportStatus);
    const { message } = await agent.sendBytes(Buffer.from('junk'));
    expect([message?.errorResponse === undefined, message?.capabilities]).toEqual([false, 0n]);
    await agent.say({ health: { healthy: false, lastError: 'a lie' } });
    expect(await rolloutOf(muster, owner)).toMatchObject({ health: { healthy: 0, unhealthy: 0 } });
  });
});

test('no backup has what agents said: a restored store asks them', () => {
  expect(isLeftOut(KEYS.opampAgent('account', 'app'))).toBe(true);
});
