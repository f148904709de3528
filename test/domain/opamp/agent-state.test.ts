import { describe, expect, test } from 'vitest';
import { outcomeOf, type AgentReport } from '../../../src/domain/opamp/agent-state.ts';
import { collectorTemplate, DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import { emptied, remoteConfigOf, type RemoteConfig } from '../../../src/domain/opamp/remote-config.ts';
import type { OpampAgentRecord } from '../../../src/domain/records/opamp-records.ts';

const NOW = Date.UTC(2026, 5, 1);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string];
const template = { template: collectorTemplate(DEFAULT_TEMPLATE), since: 1 };
const settings = { enabled: true, endpoint: 'https://otel.example.com', headers: {}, evidenceLevel: 'hashes' } as const;
const WANTED = remoteConfigOf({ revision: 3, name: '3-tag', changedAt: 1, settings: () => settings }, template);

const ABLE = {
  acceptsConfig: true,
  reportsConfig: true,
  acceptsSettings: false,
  reportsHeartbeat: false,
  reportsHealth: true,
};
const report = (more: Partial<AgentReport> = {}): AgentReport => ({
  instance: A,
  abilities: ABLE,
  described: undefined,
  health: undefined,
  config: undefined,
  gap: false,
  ...more,
});
const described = { platform: 'linux', agentVersion: '1' };
const SETTLED: OpampAgentRecord = { instances: [A], described, config: { hash: WANTED.hash, status: 'applied' } };
const APPLIED = { hash: WANTED.hash, status: 'applied', error: undefined } as const;
const outcome = (before: OpampAgentRecord | undefined, said: Partial<AgentReport> = {}, at = NOW, whole?: string) =>
  outcomeOf(before, report(said), WANTED, whole, at);

test('an agent that has said all and has nothing new changes nothing', () => {
  const { record, offer, askFullState, isComplete, isShared, acknowledged } = outcome(SETTLED);
  expect(record).toBe(SETTLED);
  expect({ offer, askFullState, isComplete, isShared, acknowledged }).toEqual({
    offer: undefined,
    askFullState: false,
    isComplete: true,
    isShared: false,
    acknowledged: undefined,
  });
});

test('what it repeats changes nothing either', () => {
  const before = { ...SETTLED, health: { healthy: true, at: 1 } };
  const said = {
    described,
    health: { healthy: true, error: undefined },
    config: { hash: WANTED.hash, status: 'applied', error: undefined },
  } as const;
  expect(outcome(before, said).record).toBe(before);
});

describe('the last two instances', () => {
  test.each<[readonly string[], string | undefined, readonly string[], boolean, string]>([
    [[], A, [A], false, 'the first one'],
    [[A], A, [A], false, 'the same one'],
    [[A], B, [B, A], false, 'a restart'],
    [[B, A], C, [C, B], false, 'another restart'],
    [[B, A], A, [A, B], true, 'the older one is alive'],
    [[A], undefined, [A], false, 'none that can be used'],
  ])('%j, then %s → %j, told: %s (%s)', (instances, instance, kept, isTold) => {
    const { record, isShared } = outcome({ ...SETTLED, instances: [...instances] }, { instance });
    expect([record.instances, isShared]).toEqual([kept, isTold]);
  });

  test.each([
    [HOUR_MS - 1, false],
    [HOUR_MS, true],
  ])('%i ms after it was told, the older one is told again: %s, and else costs no write', (since, isTold) => {
    const before = { ...SETTLED, instances: [B, A], sharedAt: NOW - since };
    const { record, isShared } = outcome(before, { instance: A });
    expect([isShared, record !== before]).toEqual([isTold, isTold]);
  });
});

describe('the full state is asked for', () => {
  const { described: _, ...undescribed } = SETTLED;
  test.each<[string, OpampAgentRecord | undefined, Partial<AgentReport>, boolean]>([
    ['of one that nobody knows', undefined, {}, true],
    ['of one that is not described', undescribed, {}, true],
    ['not of one that describes itself now', undescribed, { described }, false],
    ['not within ten minutes', { ...undescribed, askedAt: NOW - 10 * MINUTE_MS + 1 }, {}, false],
    ['after ten minutes', { ...undescribed, askedAt: NOW - 10 * MINUTE_MS }, {}, true],
    ['where the clock went back', { ...undescribed, askedAt: NOW + HOUR_MS }, {}, true],
    ['after a gap', SETTLED, { gap: true }, true],
    ['not after a gap within ten minutes', { ...SETTLED, askedAt: NOW - 1 }, { gap: true }, false],
    ['after a gap that a description alone comes with', SETTLED, { gap: true, described }, true],
    ['not after a gap that it comes with', SETTLED, { gap: true, described, config: APPLIED }, false],
    ['where it is owed since', { ...SETTLED, owes: true }, {}, true],
  ])('%s', (_, before, said, isAsked) => {
    const { askFullState, record } = outcome(before, said);
    expect([askFullState, record.askedAt === NOW]).toEqual([isAsked, isAsked]);
  });
});

describe('whole connection settings', () => {
  test.each<[string | undefined, string | undefined, boolean]>([
    ['one', undefined, true],
    ['one', 'one', false],
    ['two', 'one', true],
    [undefined, 'one', false],
  ])('%s, where %s was offered before → offered: %s', (wanted, before, isOffered) => {
    const { settings: offers, record } = outcome(
      { ...SETTLED, ...(before !== undefined && { settings: before }) },
      {},
      NOW,
      wanted,
    );
    expect([offers, record.settings]).toEqual([isOffered, wanted ?? before]);
  });
});

describe('an acknowledgement', () => {
  const of = (hash: string, status: 'unset' | 'applying' | 'applied' | 'failed') =>
    outcome({ instances: [A], described }, { config: { hash, status, error: 'words' } }).acknowledged?.status;
  test.each([
    [WANTED.hash, 'applied', 'applied'],
    [WANTED.hash, 'failed', 'failed'],
    [WANTED.hash, 'applying', undefined],
    [WANTED.hash, 'unset', undefined],
    [`${WANTED.hash}~empty`, 'applied', undefined],
    [WANTED.hash.replace('3-tag', '2-tag'), 'applied', undefined],
    [WANTED.hash.replace('3-tag', '3-other'), 'failed', undefined],
    ['', 'applied', undefined],
    ['?', 'applied', undefined],
  ] as const)('%s %s → %s', (hash, status, acknowledged) => expect(of(hash, status)).toBe(acknowledged));
});

describe('what it could not load', () => {
  const wantedAs = (name: string, since = 1, text = DEFAULT_TEMPLATE): RemoteConfig =>
    remoteConfigOf(
      { revision: Number.parseInt(name, 10), name, changedAt: 1, settings: () => settings },
      { template: collectorTemplate(text), since },
    );
  const NEVER = wantedAs('0');
  const MENDED = wantedAs('3-tag', 2, `${DEFAULT_TEMPLATE}# mended\n`);
  const EMPTIED: OpampAgentRecord = {
    instances: [A],
    described,
    config: { hash: emptied(WANTED).hash, status: 'applied' },
    failed: WANTED.key,
  };
  const nothing = { described, config: { hash: '', status: 'unset', error: undefined } } as const;

  test.each<[string, Partial<AgentReport>, RemoteConfig, 'kept' | 'forgotten', string | undefined]>([
    ['it is wanted still', {}, WANTED, 'kept', undefined],
    ['it is wanted of a new instance', { instance: B, ...nothing }, WANTED, 'kept', emptied(WANTED).hash],
    ['the never-stored one is wanted, as after a downgrade', {}, NEVER, 'forgotten', NEVER.hash],
    [
      'the never-stored one is wanted of a new instance, which has nothing to give back',
      { instance: B, ...nothing },
      NEVER,
      'forgotten',
      undefined,
    ],
    [
      'the never-stored one is wanted, and the agent says late that it failed',
      { config: { ...APPLIED, status: 'failed' } },
      NEVER,
      'forgotten',
      NEVER.hash,
    ],
    [
      'the never-stored one is wanted of an agent that no longer reports what it has',
      { abilities: { ...ABLE, reportsConfig: false } },
      NEVER,
      'forgotten',
      NEVER.hash,
    ],
    [
      'the never-stored one is wanted of an agent that no longer accepts any',
      { abilities: { ...ABLE, acceptsConfig: false } },
      NEVER,
      'forgotten',
      undefined,
    ],
    ['another revision is wanted', {}, wantedAs('4-tag'), 'forgotten', wantedAs('4-tag').hash],
    [
      'the same revision with another tag is wanted, as after a restore',
      {},
      wantedAs('3-ta'),
      'forgotten',
      wantedAs('3-ta').hash,
    ],
    ['another template is wanted, of which other replicas may have the former', {}, MENDED, 'kept', MENDED.hash],
  ])('where %s', (_, said, wanted, kept, offers) => {
    const { record, offer } = outcomeOf(EMPTIED, report(said), wanted, undefined, NOW);
    expect([record.failed, offer?.hash]).toEqual([kept === 'kept' ? WANTED.key : undefined, offers]);
  });

  /**
   * An agent that fails with one configuration, loads all others, and may lose an answer. @returns how often it tried
   */
  function failingAgent(failing: RemoteConfig) {
    let record: OpampAgentRecord = { instances: [A], described };
    let has: AgentReport['config'];
    let tries = 0;
    return {
      tries: () => tries,
      failed: () => record.failed,
      poll(wanted: RemoteConfig, { isLost = false, at = NOW } = {}): void {
        const decided = outcomeOf(record, report({ config: has }), wanted, undefined, at);
        record = decided.record;
        has = undefined;
        if (!decided.offer || isLost) return;
        const { hash } = decided.offer;
        const fails = hash === failing.hash;
        if (fails) tries += 1;
        has = { hash, status: fails ? 'failed' : 'applied', error: undefined };
      },
    };
  }

  test('is tried once after each upgrade, however many polls and lost answers there are', () => {
    const agent = failingAgent(WANTED);
    for (const upgrades of [1, 2, 3]) {
      for (const isLost of [true, false, false, false, false]) agent.poll(WANTED, { isLost });
      expect([agent.tries(), agent.failed()]).toEqual([upgrades, WANTED.key]);
      for (const isLost of [true, false, false]) agent.poll(NEVER, { isLost });
      expect(agent.failed()).toBeUndefined();
    }
  });

  test('is tried once where the offer in between was lost, too', () => {
    const agent = failingAgent(WANTED);
    for (let poll = 0; poll < 4; poll += 1) agent.poll(WANTED);
    agent.poll(NEVER, { isLost: true });
    for (let poll = 0; poll < 6; poll += 1) agent.poll(WANTED);
    expect([agent.tries(), agent.failed()]).toEqual([2, WANTED.key]);
  });

  test('is tried once while a template rolls, and where an old replica is left over for longer', () => {
    const [old, next] = [wantedAs('3-tag', NOW - 2), wantedAs('3-tag', NOW - 1, `${DEFAULT_TEMPLATE}# next\n`)];
    const agent = failingAgent(next);
    for (const at of [NOW, NOW + HOUR_MS]) {
      for (let turn = 0; turn < 4; turn += 1) for (const wanted of [old, next, next, old]) agent.poll(wanted, { at });
      expect([agent.tries(), agent.failed()]).toEqual([1, next.key]);
    }
  });
});

test('fields of a later version survive', () => {
  const before = { ...SETTLED, later: { kept: true } };
  expect(outcome(before, { instance: B }).record).toMatchObject({ later: { kept: true }, instances: [B, A] });
});
