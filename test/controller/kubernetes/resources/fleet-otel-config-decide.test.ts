import { describe, expect, test } from 'vitest';
import { decideFleetOtelConfig } from '../../../../src/controller/kubernetes/resources/fleet-otel-config-decide.ts';
import type {
  FleetOtelConfigFacts,
  FleetOtelConfigResource,
} from '../../../../src/controller/kubernetes/resources/fleet-otel-config-facts.ts';
import type { ConditionState } from '../../../../src/controller/kubernetes/runtime/conditions.ts';
import type { Rollout } from '../../../../src/domain/rollouts/rollout.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

const SPEC = {
  accountRef: { name: 'acme' },
  enabled: true,
  endpoint: 'https://otel.example.com',
  evidenceLevel: 'hashes',
} as const;
const binding = (generation: number): FleetOtelConfigFacts['binding'] => {
  const record: BindingRecord = { kind: 'FleetOtelConfig', namespace: 'team', name: 'one', accountId: 'a', generation };
  return foundAt(3, record);
};
const rollout = (more: Partial<Rollout> = {}): Rollout => ({
  revision: 4,
  devices: 3,
  applied: 3,
  failed: 0,
  pending: 0,
  stale: 0,
  failures: [],
  failuresByError: [],
  acknowledged: [],
  health: { healthy: 0, unhealthy: 0 },
  unhealthy: [],
  ...more,
});

const STORED = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'hashes' } as const;

const resourceWith = (
  spec: Partial<FleetOtelConfigResource['spec']> = {},
  more: Partial<FleetOtelConfigResource> = {},
): FleetOtelConfigResource => asResource('FleetOtelConfig', { ...SPEC, ...spec }, more);
const factsWith = (facts: Partial<FleetOtelConfigFacts> = {}): FleetOtelConfigFacts => ({
  binding: binding(1),
  account: aReadyAccount('a', 'enterprise'),
  first: 'one',
  header: 'none',
  stored: STORED,
  isHeaderAlone: false,
  seenTag: '9-60f1a2b3c4d5e6f7',
  ours: true,
  inSync: true,
  rollout: rollout(),
  sinceStatusMs: Infinity,
  ...facts,
});
const decide = (resource: FleetOtelConfigResource, facts: FleetOtelConfigFacts) =>
  decideFleetOtelConfig(resource, facts, { refused: [] });
const findingsOf = (decision: ReturnType<typeof decide>): Readonly<Record<string, ConditionState>> =>
  Object.fromEntries(
    ('settled' in decision ? decision.settled.conditions : []).map((condition) => [condition.type, condition]),
  );

describe('a configuration', () => {
  test.each([
    [{ binding: undefined, stored: undefined, inSync: false }, { do: 'store' }, 'is stored'],
    [{ inSync: false }, { do: 'store' }, 'that was changed outside is stored again'],
    [{ inSync: false, binding: binding(0) }, { do: 'store' }, 'of a new generation is stored'],
  ])('%# → %o (%s)', (facts, step, _why) => {
    expect(stepOf(decide(resourceWith(), factsWith(facts)))).toEqual(step);
  });

  test('that is stored already becomes this resource’s', () => {
    const step = stepOf(decide(resourceWith(), factsWith({ binding: undefined })));
    expect(step).toMatchObject({ do: 'note', after: { accountId: 'a', generation: 1 } });
  });

  test('in force has every condition', () => {
    const decision = decide(resourceWith(), factsWith());
    expect(Object.values(findingsOf(decision)).map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Ready=True',
      'Accepted=True',
      'Entitled=True',
      'Synced=True',
      'Delivered=True',
    ]);
    expect(decision).toMatchObject({ settled: { status: { revision: 4 } } });
  });
});

describe('what cannot be accepted', () => {
  const unusable = { reason: 'SecretNotFound', message: 'The Secret is not there.' };
  test.each([
    [{}, { first: 'older' }, 'Conflict', 'a second one of the account'],
    [{ endpoint: 'http://collector.example.com' }, {}, 'InvalidEndpoint', 'plain http to the world'],
    [
      { endpoint: 'http://collector.example.com', enabled: false },
      { stored: { ...STORED, enabled: false } },
      'InvalidEndpoint',
      'also when switched off',
    ],
    [{ endpoint: '' }, {}, 'InvalidEndpoint', 'nowhere to export to'],
    [{}, { header: unusable }, 'SecretNotFound', 'a header that cannot be had'],
  ])('%o, %o: %s (%s)', (spec, facts, reason, _why) => {
    const decision = decide(resourceWith(spec), factsWith({ binding: undefined, inSync: false, ...facts }));
    expect(stepOf(decision)).toBeUndefined();
    expect(findingsOf(decision)).toMatchObject({
      Ready: { status: 'False', reason },
      Accepted: { status: 'False', reason },
    });
  });

  test.each([
    [{ endpoint: 'http://10.0.0.1:4318' }, 'plain http at home'],
    [{ endpoint: '', enabled: false }, 'nowhere, switched off'],
  ])('%o passes beside it: %s', (spec, _why) => {
    expect(stepOf(decide(resourceWith(spec), factsWith({ inSync: false })))).toEqual({ do: 'store' });
  });
});

describe('a wish to export nothing is carried out whatever else is wrong with the spec', () => {
  const unusable = { reason: 'SecretNotFound', message: 'The Secret is not there.' };
  const off = { enabled: false };
  test.each([
    [{}, { header: unusable }, 'a header that cannot be had'],
    [{}, { header: unusable, binding: binding(0) }, 'the same of a new generation'],
    [{}, { header: unusable, binding: undefined }, 'the same of a resource that has stored nothing yet'],
    [{ endpoint: 'http://collector.example.com' }, {}, 'plain http to the world'],
  ])('%o, %#: %s', (spec, facts, _why) => {
    expect(stepOf(decide(resourceWith({ ...off, ...spec }), factsWith({ inSync: false, ...facts })))).toEqual({
      do: 'disable',
    });
  });

  test.each([
    [
      {},
      { header: unusable, stored: { ...STORED, enabled: false } },
      [],
      'SecretNotFound',
      'it is done: the fault is told',
    ],
    [{}, { header: unusable, stored: undefined }, [], 'SecretNotFound', 'there is nothing to switch off'],
    [{ enabled: true }, { header: unusable }, [], 'SecretNotFound', 'an export that is wished stays as it was'],
    [{}, { header: unusable, binding: undefined, first: 'older' }, [], 'Conflict', 'another one describes it'],
    [{}, { header: unusable }, ['enterprise_required'], 'SecretNotFound', 'a step that was refused is not repeated'],
  ] as const)('%o, %#, refused %o: %s (%s)', (spec, facts, refusals, reason, _why) => {
    const refused = refusals.map((code) => ({ do: 'disable', code, says: undefined }));
    const resource = resourceWith({ ...off, ...spec });
    const decision = decideFleetOtelConfig(resource, factsWith({ inSync: false, ...facts }), { refused });
    expect(stepOf(decision)).toBeUndefined();
    expect(findingsOf(decision)).toMatchObject({ Ready: { status: 'False', reason } });
  });
});

describe('a lower level is stored whatever else is wrong with the spec', () => {
  const unusable = { reason: 'SecretNotFound', message: 'The Secret is not there.' };
  const full = { ...STORED, evidenceLevel: 'full' } as const;
  test.each([
    [{}, { header: unusable }, 'hashes for full'],
    [{ evidenceLevel: 'redacted' }, { header: unusable }, 'redacted for full'],
    [{}, { header: unusable, stored: { ...full, evidenceLevel: 'redacted' } }, 'hashes for redacted'],
    [{ endpoint: 'http://collector.example.com' }, {}, 'with plain http to the world'],
    [{ enabled: false }, { header: unusable, stored: { ...full, enabled: false } }, 'while nothing is exported'],
    [{}, { header: unusable, stored: { ...full, enabled: false } }, 'of an export that was ended outside'],
  ] as const)('%o, %#: %s', (spec, facts, _why) => {
    const decision = decide(resourceWith(spec), factsWith({ inSync: false, stored: full, ...facts }));
    expect(stepOf(decision)).toEqual({ do: 'lower' });
  });

  test.each([
    [{ evidenceLevel: 'full' }, { stored: full }, [], 'the same level'],
    [{ evidenceLevel: 'full' }, { stored: STORED }, [], 'a higher one'],
    [{}, { stored: undefined }, [], 'nothing is stored'],
    [{}, { stored: full, first: 'older', binding: undefined }, [], 'another one describes it'],
    [{}, { stored: full }, ['enterprise_required'], 'a step that was refused is not repeated'],
  ] as const)('%o, %#, refused %o: it waits (%s)', (spec, facts, refusals, _why) => {
    const refused = refusals.map((code) => ({ do: 'lower', code, says: undefined }));
    const resource = resourceWith(spec);
    const decision = decideFleetOtelConfig(resource, factsWith({ inSync: false, header: unusable, ...facts }), {
      refused,
    });
    expect(stepOf(decision)).toBeUndefined();
    expect(findingsOf(decision)).toMatchObject({ Ready: { status: 'False' } });
  });

  test('with all that is asked for, where nothing is wrong', () => {
    expect(stepOf(decide(resourceWith(), factsWith({ inSync: false, stored: full })))).toEqual({ do: 'store' });
  });
});

test('a resource that is not the first any more leaves the configuration to the first', () => {
  const step = stepOf(decide(resourceWith(), factsWith({ first: 'older' })));
  expect(step).toEqual({ do: 'note', after: undefined });
});

test('an account that is not Enterprise has nothing stored', () => {
  const decision = decide(resourceWith(), factsWith({ account: aReadyAccount('a', 'standard'), inSync: false }));
  expect(findingsOf(decision)).toMatchObject({
    Ready: { status: 'False', reason: 'EnterpriseRequired' },
    Entitled: { status: 'False', reason: 'EnterpriseRequired' },
    Synced: { status: 'Unknown' },
  });
});

describe('what was taken away outside', () => {
  const purged = { stored: undefined, inSync: false };
  const off = { stored: { ...STORED, enabled: false }, inSync: false };

  test.each([
    [purged, {}, 'purged'],
    [off, {}, 'switched off'],
  ])('%# stays so, %o: %s', (facts, _spec, _what) => {
    const decision = decide(resourceWith(), factsWith(facts));
    expect(findingsOf(decision)).toMatchObject({
      Ready: { status: 'False', reason: 'ChangedOutside' },
      Synced: { status: 'False', reason: 'ChangedOutside' },
    });
  });

  test.each([
    [{ ...purged, binding: binding(0) }, {}, 'a new generation stores it again'],
    [{ ...off, binding: binding(0) }, {}, 'switched on by a new generation'],
    [{ stored: STORED, inSync: false }, { enabled: false }, 'switched on outside: less is wished'],
  ])('%# is stored where it is more that was given, or a person asks: %o %s', (facts, spec, _why) => {
    expect(stepOf(decide(resourceWith(spec), factsWith(facts)))).toEqual({ do: 'store' });
  });
});

describe('the delivery', () => {
  test.each([
    [rollout(), 'True', 'AllApplied'],
    [rollout({ devices: 0, applied: 0 }), 'True', 'NoDevices'],
    [rollout({ applied: 2, pending: 1 }), 'False', 'InProgress'],
    [rollout({ applied: 2, stale: 1 }), 'False', 'InProgress'],
    [rollout({ applied: 1, failed: 1, pending: 1 }), 'False', 'Failed'],
  ])('%# is %s, %s', (facts, status, reason) => {
    expect(findingsOf(decide(resourceWith(), factsWith({ rollout: facts })))['Delivered']).toMatchObject({
      status,
      reason,
    });
  });

  const before = { revision: 4, delivery: { devices: 3, applied: 1, failed: 0, pending: 2 } };
  test.each([
    [49_999, 4, 1, 'within a minute it stays as it was'],
    [50_000, 4, 3, 'then anew'],
    [0, 5, 3, 'and at once for another revision'],
  ])('after %d ms, revision %d: %d applied (%s)', (sinceStatusMs, revision, applied, _why) => {
    const decision = decide(
      resourceWith({}, { status: before }),
      factsWith({ sinceStatusMs, rollout: rollout({ revision }) }),
    );
    expect(decision).toMatchObject({ settled: { status: { revision, delivery: { applied } } } });
  });

  test('keeps a resource no less Ready', () => {
    const decision = decide(resourceWith(), factsWith({ rollout: rollout({ applied: 2, failed: 1 }) }));
    expect(reasonOf(decision)).toMatchObject({ status: 'True' });
  });
});

describe('a resource that is being deleted', () => {
  const deleting = resourceWith({}, { deleting: true });
  const standard = aReadyAccount('a', 'standard');
  test.each([
    [factsWith({ account: standard }), { do: 'purge' }, 'is purged, also without Enterprise'],
    [factsWith({ stored: undefined }), { do: 'note', after: undefined }, 'was purged already'],
    [factsWith({ binding: undefined }), undefined, 'was never accepted: what is stored is another’s'],
    [factsWith({ first: 'older' }), { do: 'note', after: undefined }, 'is described by an older one by now'],
    [
      factsWith({ ours: false }),
      { do: 'note', after: undefined },
      'belongs to an account that another namespace adopted',
    ],
  ])('%# → %o (%s)', (facts, step, _why) => {
    expect(stepOf(decide(deleting, facts))).toEqual(step);
  });
});
