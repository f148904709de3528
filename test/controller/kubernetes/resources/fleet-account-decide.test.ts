import { describe, expect, test } from 'vitest';
import {
  decideFleetAccount,
  type FleetAccountFacts,
  type FleetAccountResource,
} from '../../../../src/controller/kubernetes/resources/fleet-account-decide.ts';
import type { AccountRecord } from '../../../../src/domain/records/records.ts';
import type { BindingRecord } from '../../../../src/domain/resource-bindings/bindings.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';

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
  return { record, revision: 7 };
};

const factsWith = (facts: Partial<FleetAccountFacts> = {}): FleetAccountFacts => ({
  binding: bindingOf(1),
  account: own,
  apps: { total: 0, active: 0, pending: 0, revoked: 0 },
  sinceStatusMs: Infinity,
  ...facts,
});

const decide = (resource: FleetAccountResource, facts: FleetAccountFacts) =>
  decideFleetAccount(resource, facts, { refused: [] });

describe('an account that is not there yet', () => {
  const none = factsWith({ binding: undefined, account: undefined });
  const adopting = resourceWith({ adoptAccountId: ACCOUNT });
  const NOT_FOUND = reasonOf(decide(adopting, none));

  test('is created', () => {
    expect(stepOf(decide(resourceWith(), none))).toEqual({ do: 'create' });
  });

  test('is adopted where an operator named this very resource', () => {
    const facts = { ...none, account: { ...own, managedBy: undefined, adoptableBy: 'team/acme' } };
    expect(stepOf(decide(adopting, facts))).toEqual({ do: 'adopt', accountId: ACCOUNT });
  });

  test.each([
    [undefined, 'nobody was named'],
    ['team/other', 'another resource of the namespace'],
    ['other/acme', 'the same name in another namespace'],
    ['team', 'a namespace alone'],
  ])('is not adopted by %s (%s), and the words are those of an account that does not exist', (adoptableBy, _who) => {
    const account = { ...own, ...(adoptableBy !== undefined && { adoptableBy }) };
    expect(reasonOf(decide(adopting, { ...none, account }))).toEqual(NOT_FOUND);
    expect(NOT_FOUND).toMatchObject({ status: 'False', reason: 'NotAdoptable' });
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

  test('is let go where the release is refused', () => {
    const refused = [{ do: 'release', code: 'not_found', says: undefined }] as const;
    expect(stepOf(decideFleetAccount(deleting, factsWith(), { refused }))).toEqual({ do: 'forget' });
  });
});
