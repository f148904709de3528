import { describe, expect, test } from 'vitest';
import {
  decideFleetAccount,
  type FleetAccountFacts,
  type FleetAccountResource,
} from '../../../../src/controller/kubernetes/resources/fleet-account-decide.ts';
import type { AccountRecord } from '../../../../src/domain/records/account-records.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

const ACCOUNT = 'a'.repeat(16);
const owner = { uid: 'uid-1', namespace: 'team', name: 'acme' };
const own: AccountRecord = {
  name: 'acme',
  entitlement: 'standard',
  disabled: false,
  createdAt: 0,
  managedBy: owner,
};

const resourceWith = (
  spec: Partial<FleetAccountResource['spec']> = {},
  more: Partial<FleetAccountResource> = {},
): FleetAccountResource =>
  asResource(
    'FleetAccount',
    { entitlement: 'standard', disabled: false, deletionPolicy: 'Retain', ...spec },
    { ...owner, ...more },
  );

const bindingOf = (generation: number): FleetAccountFacts['binding'] => {
  const record: BindingRecord = {
    kind: 'FleetAccount',
    namespace: 'team',
    name: 'acme',
    accountId: ACCOUNT,
    generation,
  };
  return foundAt(7, record);
};

const factsWith = (facts: Partial<FleetAccountFacts> = {}): FleetAccountFacts => ({
  binding: bindingOf(1),
  account: own,
  owner,
  former: undefined,
  users: [],
  apps: { total: 0, active: 0, pending: 0, revoked: 0 },
  sinceStatusMs: Infinity,
  at: 1000,
  ...facts,
});

const decide = (resource: FleetAccountResource, facts: FleetAccountFacts) =>
  decideFleetAccount(resource, facts, { refused: [] });

const consent = { until: 2000 };

describe('an account that is not there yet', () => {
  const none = factsWith({ binding: undefined, account: undefined, owner: { ...owner, namespaceUid: 'ns-1' } });
  const adopting = resourceWith({ adoptAccountId: ACCOUNT });
  const NOT_FOUND = reasonOf(decide(adopting, none));
  const NOT_READ = reasonOf(decide(adopting, { ...none, owner }));

  test('is created', () => {
    expect(stepOf(decide(resourceWith(), none))).toEqual({ do: 'create' });
  });

  test('is adopted where an operator named this very resource', () => {
    const facts = { ...none, account: { ...own, managedBy: undefined, adoptableBy: 'team/acme', consent } };
    expect(stepOf(decide(adopting, facts))).toEqual({ do: 'adopt', accountId: ACCOUNT });
  });

  test.each<[given: AccountRecord['consent'], namespaceUid: string | undefined, is: boolean, why: string]>([
    [{ until: 1001 }, 'ns-1', true, 'the last instant'],
    [{ until: 1000 }, 'ns-1', false, 'the consent has ended'],
    [undefined, 'ns-1', false, 'the consent is of an earlier version'],
    [{ until: 2000, namespaceUid: 'ns-1' }, 'ns-1', true, 'the namespace that was meant'],
    [{ until: 2000, namespaceUid: 'ns-1' }, 'ns-2', false, 'a later namespace of the name'],
    [{ until: 2000, namespaceUid: 'ns-1' }, undefined, false, 'a namespace that cannot be read'],
    [{ until: 2000 }, undefined, false, 'a namespace that cannot be read, and whose UID nobody has noted'],
  ])('by the consent %j in the namespace %s it is adopted: %s (%s)', (given, namespaceUid, is, _why) => {
    const account = { ...own, managedBy: undefined, adoptableBy: 'team/acme', ...(given && { consent: given }) };
    const here = { ...owner, ...(namespaceUid !== undefined && { namespaceUid }) };
    const decided = decide(adopting, { ...none, account, owner: here });
    if (is) expect(stepOf(decided)).toEqual({ do: 'adopt', accountId: ACCOUNT });
    else expect(reasonOf(decided)).toEqual(namespaceUid === undefined ? NOT_READ : NOT_FOUND);
  });

  test.each([
    [undefined, 'nobody was named'],
    ['team/other', 'another resource of the namespace'],
    ['other/acme', 'the same name in another namespace'],
    ['team', 'a namespace alone'],
  ])('is not adopted by %s (%s), and the words are those of an account that does not exist', (adoptableBy, _who) => {
    const account = { ...own, ...(adoptableBy !== undefined && { adoptableBy, consent }) };
    expect(reasonOf(decide(adopting, { ...none, account }))).toEqual(NOT_FOUND);
    expect(NOT_FOUND).toMatchObject({ status: 'False', reason: 'NotAdoptable' });
  });
});

describe('an account that a resource of this name had before', () => {
  const none = factsWith({ binding: undefined, account: undefined });
  const here = { ...owner, namespaceUid: 'ns-1' };
  const adopting = resourceWith({ adoptAccountId: ACCOUNT });
  const former = { uid: 'uid-0', namespace: 'team', name: 'acme', namespaceUid: 'ns-1', at: 5 };

  test('is taken up again where the spec names none', () => {
    expect(stepOf(decide(resourceWith(), { ...none, former: ACCOUNT }))).toEqual({ do: 'takeUp', accountId: ACCOUNT });
  });

  test.each([
    [{ releasedBy: former }, 'the one that was released last'],
    [{ managedBy: former }, 'the one whose resource was removed by force'],
  ])('is adopted without another consent: %#, %s', (account, _which) => {
    const facts = { ...none, owner: here, account: { ...own, managedBy: undefined, ...account } };
    expect(stepOf(decide(adopting, facts))).toEqual({ do: 'takeUp', accountId: ACCOUNT });
  });

  test.each([
    [{ ...former, namespaceUid: 'ns-0' }, here, 'a namespace of this name that is gone'],
    [{ ...former, name: 'other' }, here, 'another name'],
    [{ ...former, namespace: 'other' }, here, 'another namespace'],
    [former, owner, 'a namespace that the operator may not read'],
  ])('is not that of %o for %o: %s', (releasedBy, asking, _who) => {
    const facts = { ...none, owner: asking, account: { ...own, managedBy: undefined, releasedBy } };
    expect(reasonOf(decide(adopting, facts))).toMatchObject({ reason: 'NotAdoptable' });
  });

  test('is not taken up while it follows another resource', () => {
    const account = { ...own, managedBy: { ...owner, uid: 'uid-9', name: 'heir' }, releasedBy: former };
    const facts = { ...none, owner: here, account };
    expect(reasonOf(decide(adopting, facts))).toMatchObject({ reason: 'NotAdoptable' });
  });
});

describe('an account that is there', () => {
  test('as the spec says, is left alone', () => {
    expect(reasonOf(decide(resourceWith(), factsWith()))).toMatchObject({ status: 'True', reason: 'Synced' });
  });

  test.each([
    [{ displayName: 'Acme Inc.' }, {}, 'a name'],
    [{ entitlement: 'enterprise' }, {}, 'more entitlement, which is other drift'],
    [{}, { entitlement: 'enterprise' }, 'less entitlement'],
  ] as const)('drifted: %o against %o (%s) is made as the spec says', (spec, account, _what) => {
    const facts = factsWith({ account: { ...own, ...account } });
    expect(stepOf(decide(resourceWith(spec), facts))).toEqual({ do: 'change', disabled: false });
  });

  test.each([
    [true, false, 1, { do: 'change', disabled: true }, 'less access is carried out at every reconciliation'],
    [true, false, 0, { do: 'change', disabled: true }, 'by a new generation, too'],
    [false, true, 0, { do: 'change', disabled: false }, 'more access is wished by a new generation'],
    [true, true, 0, { do: 'note' }, 'nothing to change, but the generation is carried out'],
    [false, false, 0, { do: 'note' }, 'else a later disabling would be undone by this generation'],
  ] as const)(
    'spec disabled %s, account disabled %s, generation carried out %d → %o (%s)',
    (wish, is, done, step, _why) => {
      const facts = factsWith({ binding: bindingOf(done), account: { ...own, disabled: is } });
      expect(stepOf(decide(resourceWith({ disabled: wish }), facts))).toEqual(step);
    },
  );

  test('disabled by somebody else stays disabled, and says so', () => {
    const facts = factsWith({ account: { ...own, disabled: true } });
    expect(reasonOf(decide(resourceWith(), facts))).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  });

  test('disabled by somebody else stays so while other drift is undone', () => {
    const facts = factsWith({ account: { ...own, disabled: true, entitlement: 'enterprise' } });
    expect(stepOf(decide(resourceWith(), facts))).toEqual({ do: 'change', disabled: true });
  });

  test.each([
    [{ ...own, managedBy: { ...owner, uid: 'uid-2' } }, 'ManagedByAnother'],
    [{ ...own, managedBy: undefined }, 'ManagedByAnother'],
    [undefined, 'AccountMissing'],
  ])('is not touched where it is not this resource’s: %#', (account, reason) => {
    expect(reasonOf(decide(resourceWith({ disabled: true }), factsWith({ account })))).toMatchObject({ reason });
  });
});

describe('counts of apps', () => {
  const before = { total: 1, active: 1, pending: 0, revoked: 0 };
  const counted = { total: 9, active: 5, pending: 3, revoked: 1 };
  const statusOf = (facts: Partial<FleetAccountFacts>, status: object): unknown => {
    const decision = decide(resourceWith({}, { status }), factsWith({ apps: counted, ...facts }));
    return 'settled' in decision ? decision.settled.status.apps : undefined;
  };

  test.each([
    [59_999, before, 'a minute has not passed'],
    [60_000, counted, 'a minute has passed'],
    [Infinity, counted, 'nothing was written in this term'],
  ])('%d ms after the last write are %o (%s)', (sinceStatusMs, apps, _why) => {
    expect(statusOf({ sinceStatusMs }, { apps: before })).toEqual(apps);
  });

  test('are there from the first status on', () => {
    expect(statusOf({ sinceStatusMs: 1 }, {})).toEqual(counted);
  });
});

describe('a resource that is being deleted', () => {
  const deleting = resourceWith({}, { deleting: true });

  test.each([
    [factsWith(), { do: 'release' }, 'the account is released as the policy says'],
    [factsWith({ account: undefined }), { do: 'forget' }, 'there is no account any more'],
    [factsWith({ binding: undefined }), undefined, 'nothing was made, or all is done'],
  ])('%# → %o (%s)', (facts, step, _why) => {
    expect(stepOf(decide(deleting, facts))).toEqual(step);
  });

  describe('and is in use', () => {
    const users = ['FleetApp a', 'FleetApp b', 'FleetApp c', 'FleetApp d', 'FleetApp e'];
    const heldBy = (facts: Partial<FleetAccountFacts>, more: Partial<FleetAccountResource> = {}) =>
      decide(resourceWith({}, { deleting: true, ...more }), factsWith({ users, ...facts }));

    test('is held, names the first users and counts the others', () => {
      const decision = heldBy({});
      expect(decision).toMatchObject({ settled: { held: true } });
      expect(reasonOf(decision)).toEqual({
        type: 'Ready',
        status: 'False',
        reason: 'InUse',
        message:
          'The account is in use: FleetApp a, FleetApp b, FleetApp c and 2 more. The deletion goes on when they are gone.',
      });
      expect(reasonOf(heldBy({ users: users.slice(0, 3) }))?.message).toContain('FleetApp c. The deletion');
    });

    test.each([
      [9_999, 'as it was told', 1],
      [10_000, 'The account is in use', 60_000],
    ])('%d ms after the last status it says: %s', (sinceStatusMs, words, requeueAfterMs) => {
      const told = { type: 'Ready', status: 'False', reason: 'InUse', message: 'as it was told' } as const;
      const decision = heldBy({ sinceStatusMs }, { conditions: [{ ...told, lastTransitionTime: '' }] });
      expect(reasonOf(decision)?.message).toContain(words);
      expect(decision).toMatchObject({ settled: { requeueAfterMs } });
    });

    test.each([
      [{ disabled: true }, false, { do: 'change', disabled: true }],
      [{ deletionPolicy: 'Disable' }, false, { do: 'change', disabled: true }],
      [{ deletionPolicy: 'Disable' }, true, undefined],
      // Only access that is taken away does not wait; a deletion, which is a generation of its own, gives none.
      [{ displayName: 'other' }, false, undefined],
      [{}, true, undefined],
    ] as const)('with the spec %o, disabled %o, the next step is %o', (spec, disabled, step) => {
      const resource = resourceWith(spec, { deleting: true, generation: 9 });
      const decision = decide(resource, factsWith({ users, account: { ...own, disabled } }));
      expect(stepOf(decision)).toEqual(step);
    });

    test.each([
      [{ users: [] }, { do: 'release' }, 'the last user is gone'],
      [{ account: { ...own, managedBy: { ...owner, uid: 'uid-2' } } }, { do: 'release' }, 'it is another resource’s'],
      [{ account: undefined }, { do: 'forget' }, 'there is no account'],
      [{ binding: undefined }, undefined, 'it stands for no account'],
    ])('is let go: %# → %o (%s)', (facts, step, _why) => {
      expect(stepOf(heldBy(facts))).toEqual(step);
      expect(heldBy(facts)).not.toMatchObject({ settled: { held: true } });
    });
  });

  test('is let go where the release is refused', () => {
    const refused = [{ do: 'release', code: 'not_found', says: undefined }] as const;
    expect(stepOf(decideFleetAccount(deleting, factsWith(), { refused }))).toEqual({ do: 'forget' });
  });
});
