import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import { RemoteConfigStatuses } from '../../../src/opamp/generated/opamp_pb.ts';
import { hashOf, offered, OpampAgent } from '../../support/opamp/agent.ts';
import { rolloutOf, startedAgent } from '../../support/opamp/fleet.ts';
import { auditOf, revoke, setOtel } from '../../support/service/daemon.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Muster, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const url = inject('etcd');

interface Pair extends AsyncDisposable {
  readonly one: Muster;
  readonly other: Muster;
}

/** Two replicas of one fleet, each with its template. */
async function pair(templates: readonly [string, string] = [DEFAULT_TEMPLATE, DEFAULT_TEMPLATE]): Promise<Pair> {
  const prefix = `/${randomUUID()}/`;
  const [one, other] = (await Promise.all(
    templates.map((text) => {
      const file = join(scratchDirectory('template'), 'template.yaml');
      writeFileSync(file, text, { mode: 0o600 });
      const env = {
        MUSTER_ETCD_PREFIX: prefix,
        MUSTER_OPAMP_TEMPLATE_FILE: file,
        MUSTER_DEVICE_RATE_PER_MINUTE: '10000',
      };
      return Muster.start({ store: `etcd:${url}`, env });
    }),
  )) as [Muster, Muster];
  return {
    one,
    other,
    async [Symbol.asyncDispose]() {
      await Promise.all([one, other].map((muster) => muster[Symbol.asyncDispose]()));
    },
  };
}
const at = ({ device }: Muster, agent: OpampAgent): OpampAgent =>
  Object.assign(new OpampAgent(device, agent.bearer, agent.capabilities), {
    instanceUid: agent.instanceUid,
    sequence: agent.sequence,
  });

describe.skipIf(url === undefined)('agents of several replicas', () => {
  test('what one replica has heard the others know: nothing is offered twice, and a revocation holds everywhere', async () => {
    await using replicas = await pair();
    const { one, other } = replicas;
    const owner = await tenant(one);
    await setOtel(one, owner.apiKey);
    const { agent, first, appId } = await startedAgent(one, owner);
    // The first answer had no acknowledgement yet: the other replica offers the same under the same key.
    const twin = at(other, agent);
    const again = await twin.say();
    expect(hashOf(again).split('~').slice(0, 2)).toEqual(hashOf(first).split('~').slice(0, 2));
    await agent.acknowledge(first);
    expect((await twin.say()).remoteConfig).toBeUndefined();
    const failed = await twin.say({
      remoteConfigStatus: { lastRemoteConfigHash: first.remoteConfig!.configHash, status: RemoteConfigStatuses.FAILED },
    });
    expect(offered(failed)).toBe('{}\n');
    // This replica has it settled in memory, and no message with news has come by it.
    expect(await rolloutOf(one, owner)).toMatchObject({ failed: 1 });
    await twin.acknowledge(failed);
    expect((await agent.say()).remoteConfig).toBeUndefined();
    await revoke(one, owner.apiKey, appId);
    expect(await twin.send()).toMatchObject({ status: 401 });
  });

  test('two machines on one credential are found, each at its own replica', async () => {
    await using replicas = await pair();
    const { one, other } = replicas;
    const owner = await tenant(one);
    const { agent } = await startedAgent(one, owner);
    const twin = at(other, agent);
    twin.instanceUid = randomBytes(16);
    await twin.start();
    await agent.start();
    await twin.start();
    const shared = (await auditOf(one, owner.accountId)).filter(({ action }) => action === 'credential.shared');
    expect(shared).toHaveLength(1);
  });

  test('while replicas have two templates, an agent gets the newer one and keeps it', async () => {
    await using replicas = await pair([DEFAULT_TEMPLATE, `${DEFAULT_TEMPLATE}# the next one\n`]);
    const { one: old, other: next } = replicas;
    const owner = await tenant(old);
    await setOtel(old, owner.apiKey);
    const { agent, first } = await startedAgent(old, owner);
    await agent.acknowledge(first);
    const twin = at(next, agent);
    const answers = [];
    for (let round = 0; round < 3; round += 1) {
      for (const each of [twin, agent]) {
        const answer = await each.say();
        if (answer.remoteConfig) {
          answers.push(offered(answer)?.includes('the next one'));
          await each.acknowledge(answer);
        }
      }
    }
    // Which of the two replicas has started later decides: one change at most, and none back.
    expect(answers.length).toBeLessThanOrEqual(1);
    expect((await agent.say()).remoteConfig).toBeUndefined();
    expect((await twin.say()).remoteConfig).toBeUndefined();
  });
});

test('a changed template reaches agents at their next poll; a broken one changes nothing, and is told', async () => {
  const file = join(scratchDirectory('template'), 'template.yaml');
  writeFileSync(file, DEFAULT_TEMPLATE, { mode: 0o600 });
  const clock = new FakeClock();
  await using muster = await Muster.start({ clock, env: { MUSTER_OPAMP_TEMPLATE_FILE: file } });
  /** The file is read again every 10 s. */
  const told = (what: string): Promise<void> =>
    until(() => {
      clock.advance(10_000);
      return muster.logged.some((line) => line.includes(what));
    });
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey);
  const { agent, first } = await startedAgent(muster, owner);
  await agent.acknowledge(first, RemoteConfigStatuses.FAILED, 'unknown exporter');
  expect(await rolloutOf(muster, owner)).toMatchObject({ failed: 1 });
  writeFileSync(file, 'exporters: {', { mode: 0o600 });
  await told('a file of the configuration cannot be used');
  const { text } = await readiness(muster);
  expect(text).toContain('MUSTER_OPAMP_TEMPLATE_FILE');
  writeFileSync(file, `${DEFAULT_TEMPLATE}# mended\n`, { mode: 0o600 });
  await told('a file of the configuration has changed');
  // Another template is another configuration: it is offered though the one before could not be loaded.
  expect(offered(await agent.say())).toContain('# mended');
});

async function readiness(muster: Muster): Promise<{ readonly text: string }> {
  return { text: await (await fetch(`${muster.ops}/readyz`)).text() };
}
