import { describe, expect, test } from 'vitest';
import { outcomeOf, type AgentReport } from '../../../src/domain/opamp/agent-state.ts';
import { collectorTemplate, DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import { remoteConfigOf } from '../../../src/domain/opamp/remote-config.ts';
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

test('fields of a later version survive', () => {
  const before = { ...SETTLED, later: { kept: true } };
  expect(outcome(before, { instance: B }).record).toMatchObject({ later: { kept: true }, instances: [B, A] });
});
