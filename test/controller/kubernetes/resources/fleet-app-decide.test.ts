import { describe, expect, test } from 'vitest';
import { decideFleetApp } from '../../../../src/controller/kubernetes/resources/fleet-app-decide.ts';
import type {
  FleetAppFacts,
  FleetAppResource,
} from '../../../../src/controller/kubernetes/resources/fleet-app-facts.ts';
import { newApp, revoked, withCode } from '../../../../src/domain/apps/app-state.ts';
import { LIMITS } from '../../../../src/domain/limits.ts';
import type { AppRecord } from '../../../../src/domain/records/app-records.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

const APP = 'p'.repeat(20);
const DAY = 86_400_000;
const EXPIRES = LIMITS.enrollCodeValidMs;

const resourceWith = (
  spec: Partial<FleetAppResource['spec']> = {},
  more: Partial<FleetAppResource> = {},
): FleetAppResource =>
  asResource(
    'FleetApp',
    {
      accountRef: { name: 'acme' },
      secretFormat: 'enrollment',
      desiredState: 'Active',
      deletionPolicy: 'Delete',
      enrollment: { issue: 'UntilEnrolled', secretRef: { name: 'box' } },
      ...spec,
    },
    more,
  );

const pending = newApp('one', 0, 0);
const issued = withCode(pending, { hash: 'h1', issuedAt: 0 });
const active: AppRecord = { ...pending, status: 'active', credential: 'c', spent: [{ hash: 'h1', why: 'used' }] };
const cutOff = revoked({ ...issued, status: 'active', credential: 'c' }, 1);
const ofAnother: AppRecord = { ...active, managedBy: { uid: 'uid-2', namespace: 'team', name: 'heir' } };
const CODE = { hash: 'h1', expiresAt: EXPIRES };
const CONTENT = { appId: 'A', serverUrl: 'U' };
const WITH_CODE = { ...CONTENT, enrollCode: 'h1' };

const LINK: BindingRecord = {
  kind: 'FleetApp',
  namespace: 'team',
  name: 'one',
  accountId: 'a',
  generation: 1,
  appId: APP,
  secretName: 'box',
};
const bindingOf = (more: Partial<BindingRecord> = {}): NonNullable<FleetAppFacts['binding']> =>
  foundAt(7, { ...LINK, ...more });
const factsWith = (facts: Partial<FleetAppFacts> = {}): FleetAppFacts => ({
  binding: bindingOf({ code: CODE }),
  account: aReadyAccount('a'),
  app: issued,
  candidate: undefined,
  namespaceUid: undefined,
  isDressed: true,
  seenAt: null,
  secret: { own: true, digests: WITH_CODE },
  wanted: { ...CONTENT, settings: '' },
  ...facts,
});
const decide = (resource: FleetAppResource, facts: FleetAppFacts, at = DAY) =>
  decideFleetApp(resource, facts, { at, refused: [] });

describe('from nothing to a code in a Secret', () => {
  test.each([
    [{ binding: undefined, app: undefined, secret: undefined }, { do: 'create' }, 'nothing is there'],
    [{ binding: bindingOf(), app: pending, secret: undefined }, { do: 'issue' }, 'an app without a code'],
    [
      { binding: bindingOf({ pending: { hash: 'h1' } }), app: pending },
      { do: 'register' },
      'the Secret holds what was noted: its hash is registered',
    ],
    [
      { binding: bindingOf({ pending: { hash: 'h1' } }), app: pending, secret: undefined },
      { do: 'issue' },
      'the process ended before the Secret was written: another is generated',
    ],
    [
      { binding: bindingOf({ pending: { hash: 'h2' } }), app: pending },
      { do: 'issue' },
      'the Secret holds what nobody noted: it is never registered',
    ],
  ] as const)('%# → %o (%s)', (facts, step, _why) => {
    expect(stepOf(decide(resourceWith(), factsWith(facts)))).toEqual(step);
  });

  test('is Ready with the code in place', () => {
    expect(reasonOf(decide(resourceWith(), factsWith()))).toMatchObject({ status: 'True', reason: 'CodeIssued' });
  });

  test('needs no code where none is asked for, but the Secret all the same', () => {
    const resource = resourceWith({ enrollment: { issue: 'Never', secretRef: { name: 'box' } } });
    const facts = factsWith({ binding: bindingOf(), app: pending, secret: undefined });
    expect(stepOf(decide(resource, facts))).toEqual({ do: 'write', withoutCode: false });
    const there = factsWith({ binding: bindingOf(), app: pending, secret: { own: true, digests: CONTENT } });
    expect(reasonOf(decide(resource, there))).toMatchObject({ status: 'True', reason: 'Created' });
  });
});

describe('a code', () => {
  const inThreeDays = EXPIRES - 3 * DAY;
  test.each([
    ['UntilEnrolled', inThreeDays - 1, undefined, 'CodeIssued', 'is left alone until 3 days before it expires'],
    ['UntilEnrolled', inThreeDays, { do: 'issue' }, undefined, 'is renewed from then on'],
    ['UntilEnrolled', EXPIRES, { do: 'issue' }, undefined, 'is replaced once it has expired'],
    ['Once', EXPIRES - 1, undefined, 'CodeIssued', 'of which there is one is not renewed'],
  ] as const)('%s at %d → %o %s: %s', (issue, at, step, reason, _why) => {
    const decision = decide(resourceWith({ enrollment: { issue, secretRef: { name: 'box' } } }), factsWith(), at);
    expect(stepOf(decision)).toEqual(step);
    expect(reasonOf(decision)?.reason).toBe(reason);
  });

  test('that expired, and was the only one, is removed from the Secret and reported', () => {
    const resource = resourceWith({ enrollment: { issue: 'Once', secretRef: { name: 'box' } } });
    expect(stepOf(decide(resource, factsWith(), EXPIRES))).toEqual({ do: 'write', withoutCode: true });
    const without = factsWith({ secret: { own: true, digests: CONTENT } });
    expect(reasonOf(decide(resource, without, EXPIRES))).toMatchObject({ status: 'False', reason: 'CodeExpired' });
  });

  test('that was used is removed from the Secret, and no other follows', () => {
    expect(stepOf(decide(resourceWith(), factsWith({ app: active })))).toEqual({ do: 'write', withoutCode: true });
    const without = factsWith({ app: active, secret: { own: true, digests: CONTENT } });
    expect(reasonOf(decide(resourceWith(), without))).toMatchObject({ status: 'True', reason: 'Active' });
  });

  test('whose Secret was deleted or changed is followed by another', () => {
    expect(stepOf(decide(resourceWith(), factsWith({ secret: undefined })))).toEqual({ do: 'issue' });
    const changed = { own: true, digests: { ...WITH_CODE, enrollCode: 'x' } };
    expect(stepOf(decide(resourceWith(), factsWith({ secret: changed })))).toEqual({ do: 'issue' });
  });

  test('for a Secret of another name is another one, and the old Secret goes', () => {
    const binding = bindingOf({ code: CODE, secretName: 'old' });
    const moved = decide(resourceWith(), factsWith({ binding }));
    expect(stepOf(moved)).toMatchObject({ do: 'note', after: { secretName: 'box', oldSecret: 'old' } });
    const noted = bindingOf({ code: CODE, oldSecret: 'old' });
    const removal = stepOf(decide(resourceWith(), factsWith({ binding: noted })));
    expect(removal).toMatchObject({ do: 'removeSecret', name: 'old', after: { secretName: 'box' } });
    expect(removal && 'after' in removal ? removal.after : {}).not.toHaveProperty('oldSecret');
  });

  test('goes with its Secret where the spec asks for none any more', () => {
    const { enrollment: _none, ...spec } = resourceWith().spec;
    const resource = { ...resourceWith(), spec };
    const step = stepOf(decide(resource, factsWith({ app: active, secret: undefined })));
    expect(step).toMatchObject({ do: 'note', after: { oldSecret: 'box' } });
  });
});

describe('the Secret of an enrolled app', () => {
  test.each([
    [{ own: true, digests: { ...CONTENT, serverUrl: 'x' } }, 'another address'],
    [{ own: true, digests: { serverUrl: 'U' } }, 'no appId'],
    [undefined, 'it was deleted'],
  ])('%o (%s) is put right', (secret, _what) => {
    const decision = decide(resourceWith(), factsWith({ app: active, secret }));
    expect(stepOf(decision)).toEqual({ do: 'write', withoutCode: false });
  });

  test('of another owner is never written', () => {
    const decision = decide(resourceWith(), factsWith({ secret: { own: false, digests: {} } }));
    expect(reasonOf(decision)).toMatchObject({ status: 'False', reason: 'SecretNotOwned' });
  });
});

describe('a code that is in no Secret any more', () => {
  test.each([
    [{ issue: 'Never', secretRef: { name: 'box' } }, 'no code is wished'],
    [undefined, 'no enrollment at all'],
  ] as const)('is voided, whatever else is wrong: %o (%s)', (enrollment, _why) => {
    const { enrollment: _before, ...spec } = resourceWith().spec;
    const resource = { ...resourceWith(), spec: { ...spec, ...(enrollment && { enrollment }) } };
    expect(stepOf(decide(resource, factsWith()))).toEqual({ do: 'void' });
    for (const trouble of [{ account: { is: 'AccountNotFound' } }, { secret: { own: false, digests: {} } }] as const) {
      expect(stepOf(decide(resource, factsWith(trouble)))).toEqual({ do: 'void' });
      expect(reasonOf(decide(resourceWith(), factsWith(trouble)))).toMatchObject({ status: 'False' });
    }
  });
});

describe('less access', () => {
  test.each([
    [issued, 'a pending app'],
    [active, 'an active one'],
    [withCode(cutOff, { hash: 'h9', issuedAt: 2 }), 'a revoked one to which somebody issued a code'],
  ])('%# is revoked at every reconciliation: %s', (app, _what) => {
    const step = stepOf(decide(resourceWith({ desiredState: 'Revoked' }), factsWith({ app })));
    expect(step).toMatchObject({ do: 'revoke' });
  });

  test('is carried out before any obstacle is reported', () => {
    const facts = factsWith({ account: { is: 'AccountNotFound' }, secret: { own: false, digests: {} } });
    expect(stepOf(decide(resourceWith({ desiredState: 'Revoked' }), facts))).toMatchObject({ do: 'revoke' });
  });

  test('is Ready once it is carried out and the void code is removed from the Secret', () => {
    const resource = resourceWith({ desiredState: 'Revoked' });
    expect(stepOf(decide(resource, factsWith({ app: cutOff })))).toEqual({ do: 'write', withoutCode: true });
    const facts = factsWith({ app: cutOff, secret: { own: true, digests: CONTENT } });
    expect(reasonOf(decide(resource, facts))).toMatchObject({ status: 'True', reason: 'Revoked' });
  });
});

describe('what was taken away outside', () => {
  const stripped = { own: true, digests: CONTENT };

  test('stays revoked', () => {
    const decision = decide(resourceWith(), factsWith({ app: cutOff, secret: stripped }));
    expect(reasonOf(decision)).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  });

  test('stays revoked though a code was generated before: that one is not registered', () => {
    const binding = bindingOf({ code: { hash: 'h0', expiresAt: EXPIRES }, pending: { hash: 'h1' } });
    const step = stepOf(decide(resourceWith(), factsWith({ binding, app: cutOff })));
    expect(step).toMatchObject({ do: 'note' });
    expect(step && 'after' in step ? step.after : {}).not.toHaveProperty('pending');
  });

  test('stays deleted', () => {
    const decision = decide(resourceWith(), factsWith({ app: undefined }));
    expect(reasonOf(decision)).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  });

  test.each([
    [cutOff, { do: 'issue' }, 'a revoked app by another code'],
    [undefined, { do: 'create' }, 'a deleted one by another app'],
  ])('%# comes back with the next generation → %o (%s)', (app, step, _what) => {
    const facts = factsWith({ app, secret: stripped });
    expect(stepOf(decide(resourceWith({}, { generation: 2 }), facts))).toEqual(step);
  });

  test('returns once a code is issued, and a later reconciliation does not take that for a change from outside', () => {
    const app = withCode(cutOff, { hash: 'h2', issuedAt: DAY });
    const binding = bindingOf({ code: { hash: 'h2', expiresAt: DAY + EXPIRES } });
    const facts = factsWith({ app, binding, secret: { own: true, digests: { ...CONTENT, enrollCode: 'h2' } } });
    expect(reasonOf(decide(resourceWith(), facts, 2 * DAY))).toMatchObject({ status: 'True', reason: 'CodeIssued' });
  });

  test('stays revoked though an earlier code expired', () => {
    const app = { ...cutOff, statusAt: EXPIRES + DAY, spent: [{ hash: 'h1', why: 'expired' as const }] };
    const decision = decide(resourceWith(), factsWith({ app, secret: stripped }), EXPIRES + 2 * DAY);
    expect(reasonOf(decision)).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  });

  test('has another code where the one after the revocation expired unused', () => {
    const spent = [{ hash: 'h2', why: 'expired' as const }];
    const app = { ...cutOff, statusAt: DAY, spent };
    const binding = bindingOf({ code: { hash: 'h2', expiresAt: 2 * DAY + EXPIRES } });
    const decision = decide(resourceWith(), factsWith({ app, binding, secret: stripped }), 3 * DAY + EXPIRES);
    expect(stepOf(decision)).toEqual({ do: 'issue' });
  });

  test('does not come back without a code', () => {
    const resource = resourceWith({ enrollment: { issue: 'Never' } });
    const facts = factsWith({ app: cutOff, binding: bindingOf(), secret: undefined });
    const bare = { ...facts, binding: bindingOf({ secretName: undefined }) };
    expect(reasonOf(decide(resource, bare))).toMatchObject({ status: 'False', reason: 'Revoked' });
  });
});

test('an account without room is reported, and tried again slowly', () => {
  const refused = [{ do: 'create', code: 'limit_reached', says: undefined }] as const;
  const facts = factsWith({ binding: undefined, app: undefined });
  const decision = decideFleetApp(resourceWith(), facts, { at: 0, refused });
  expect(decision).toMatchObject({ settled: { requeueAfterMs: 300_000 } });
  expect(reasonOf(decision)).toMatchObject({ status: 'False', reason: 'LimitReached' });
});

describe('the status', () => {
  const statusOf = (facts: Partial<FleetAppFacts>, at = DAY): object => {
    const decision = decide(resourceWith(), factsWith(facts), at);
    return 'settled' in decision ? decision.settled : {};
  };

  test('has the last contact in steps of five minutes, and is written again after one', () => {
    const app = { ...active, platform: 'linux', agentVersion: '1.2.3' };
    const seen = statusOf({ app, seenAt: DAY + 299_999, secret: { own: true, digests: CONTENT } });
    expect(seen).toMatchObject({
      status: {
        appId: APP,
        state: 'active',
        platform: 'linux',
        agentVersion: '1.2.3',
        lastSeenAt: '1970-01-02T00:00:00Z',
        enrollment: { consumed: true },
      },
      requeueAfterMs: 300_000,
    });
  });

  test.each([
    [{ account: { is: 'AccountNotFound' } }, 'no account'],
    [{ secret: { own: false, digests: {} } }, 'another’s Secret'],
    [{ app: withCode(active, { hash: 'h1', issuedAt: 0 }) }, 'enrolled by another code'],
  ] as const)(
    'in the days of renewal is not reconciled without pause where nothing is renewed: %# (%s)',
    (facts, _why) => {
      const settled = statusOf(facts, EXPIRES - DAY);
      expect(settled).toMatchObject({ requeueAfterMs: expect.any(Number) as number });
      expect((settled as { requeueAfterMs: number }).requeueAfterMs).toBeGreaterThanOrEqual(25_000);
    },
  );

  test('has the expiry of a code, and is written again in a while', () => {
    expect(statusOf({})).toMatchObject({
      status: { state: 'pending', enrollment: { expiresAt: '1970-01-31T00:00:00Z', consumed: false } },
      requeueAfterMs: 600_000,
    });
  });
});

describe('an app that is to be adopted', () => {
  const adopting = resourceWith({ adoptAppId: APP });
  const none = { binding: undefined, app: undefined, secret: undefined, namespaceUid: 'ns-1' };
  const former = { uid: 'uid-0', namespace: 'team', name: 'one' };
  const consent = { until: 2 * DAY };
  const NOT_FOUND = reasonOf(decide(adopting, factsWith(none)));
  const NOT_READ = reasonOf(decide(adopting, factsWith({ ...none, namespaceUid: undefined })));

  test.each([
    [{ ...active, adoptableBy: 'team/one', consent }, 'an operator named this very resource'],
    [{ ...cutOff, adoptableBy: 'team/one', consent }, 'a revoked one, too'],
    [{ ...active, releasedBy: former }, 'a resource of this name released it'],
    [{ ...active, managedBy: former }, 'a resource of this name was removed by force'],
  ])('is adopted: %# (%s)', (candidate, _why) => {
    expect(stepOf(decide(adopting, factsWith({ ...none, candidate })))).toEqual({ do: 'adopt', appId: APP });
  });

  test.each([
    [undefined, 'nobody was named'],
    ['team/other', 'another resource of the namespace'],
    ['other/one', 'the same name in another namespace'],
  ])('is not adopted by %s (%s), and the words are those of an app that does not exist', (adoptableBy, _who) => {
    const candidate = { ...active, ...(adoptableBy !== undefined && { adoptableBy, consent }) };
    expect(reasonOf(decide(adopting, factsWith({ ...none, candidate })))).toEqual(NOT_FOUND);
    expect(NOT_FOUND).toMatchObject({ status: 'False', reason: 'NotAdoptable' });
  });

  test.each<[given: AppRecord['consent'], namespaceUid: string | undefined, why: string]>([
    [{ until: DAY }, 'ns-1', 'the consent has ended'],
    [undefined, 'ns-1', 'the consent is of an earlier version'],
    [{ until: 2 * DAY, namespaceUid: 'ns-1' }, 'ns-2', 'the namespace is a later one of the name'],
    [{ until: 2 * DAY, namespaceUid: 'ns-1' }, undefined, 'the namespace cannot be read'],
    [{ until: 2 * DAY }, undefined, 'the namespace cannot be read, and nobody has noted its UID'],
  ])('is not adopted by the consent %j in the namespace %s (%s)', (given, namespaceUid, _why) => {
    const candidate = { ...active, adoptableBy: 'team/one', ...(given && { consent: given }) };
    const told = namespaceUid === undefined ? NOT_READ : NOT_FOUND;
    expect(reasonOf(decide(adopting, factsWith({ ...none, candidate, namespaceUid })))).toEqual(told);
    const same = { ...candidate, consent: { until: 2 * DAY, namespaceUid: 'ns-1' } };
    const here = factsWith({ ...none, candidate: same, namespaceUid: 'ns-1' });
    expect(stepOf(decide(adopting, here))).toEqual({ do: 'adopt', appId: APP });
  });

  test('says the same where the consent was used up meanwhile', () => {
    const refused = [{ do: 'adopt', code: 'not_found', says: undefined }] as const;
    const facts = factsWith({ ...none, candidate: { ...active, adoptableBy: 'team/one', consent } });
    expect(reasonOf(decideFleetApp(adopting, facts, { at: DAY, refused }))).toEqual(NOT_FOUND);
  });

  const adopted = { binding: bindingOf(), app: { ...active, managedBy: { ...former, uid: 'uid-1' } } };
  test.each([
    [adopted, { do: 'write', withoutCode: false }, undefined, 'its daemon is enrolled: no code is issued'],
    [{ ...adopted, secret: { own: true, digests: CONTENT } }, undefined, 'Active', 'and nothing else is to be done'],
    [
      { ...adopted, app: { ...pending, managedBy: adopted.app.managedBy } },
      { do: 'issue' },
      undefined,
      'none enrolled',
    ],
    [
      { ...adopted, app: { ...cutOff, managedBy: adopted.app.managedBy }, secret: { own: true, digests: CONTENT } },
      undefined,
      'ChangedOutside',
      'revoked before: it comes back by a change of the spec alone',
    ],
    [{ ...adopted, app: undefined }, undefined, 'ChangedOutside', 'deleted: no other app takes its place'],
  ])('once it is: %# → %o %s (%s)', (facts, step, reason, _why) => {
    const decision = decide(adopting, factsWith({ secret: undefined, ...facts }));
    expect(stepOf(decision)).toEqual(step);
    expect(reasonOf(decision)?.reason).toBe(reason);
  });

  test('is revoked where the spec says so, and no other app is made by a later spec', () => {
    const revoking = resourceWith({ adoptAppId: APP, desiredState: 'Revoked' });
    expect(stepOf(decide(revoking, factsWith(adopted)))).toMatchObject({ do: 'revoke' });
    const later = resourceWith({ adoptAppId: APP }, { generation: 2 });
    expect(reasonOf(decide(later, factsWith({ ...adopted, app: undefined })))?.reason).toBe('ChangedOutside');
  });
});

describe('an app that an operator gave to another FleetApp', () => {
  test.each([
    [ofAnother, 'that follows it'],
    [{ ...active, releasedBy: ofAnother.managedBy }, 'that released it since'],
  ])('is left alone: %# (%s)', (app, _what) => {
    const revoking = resourceWith({ desiredState: 'Revoked' }, { generation: 2 });
    expect(reasonOf(decide(revoking, factsWith({ app })))).toMatchObject({
      status: 'False',
      reason: 'ManagedByAnother',
    });
  });
});

describe('a resource whose FleetAccount stands for another account now', () => {
  const account = { is: 'AccountReplaced', accountId: 'b' } as const;
  const saying = (value: string): FleetAppResource => {
    const resource = resourceWith();
    const metadata = { ...resource.object.metadata, annotations: { 'muster.dev/rebind-to': value } };
    return { ...resource, object: { ...resource.object, metadata } };
  };

  test('stays where it is without a word, and names the word', () => {
    const said = reasonOf(decide(resourceWith(), factsWith({ account })));
    expect(said).toMatchObject({ status: 'False', reason: 'AccountReplaced' });
    expect(said?.message).toContain('muster.dev/rebind-to=b');
    expect(reasonOf(decide(saying('a'), factsWith({ account })))).toEqual(said);
  });

  test('leaves its account by that word, as when it is deleted', () => {
    expect(stepOf(decide(saying('b'), factsWith({ account })))).toEqual({ do: 'delete' });
  });

  test('stays in an account that its FleetAccount still stands for, whatever the annotation says', () => {
    expect(reasonOf(decide(saying('a'), factsWith()))?.reason).toBe('CodeIssued');
  });
});

describe('a resource that is being deleted', () => {
  const leaving = (deletionPolicy: FleetAppResource['spec']['deletionPolicy']): FleetAppResource =>
    resourceWith({ deletionPolicy }, { deleting: true });

  test.each([
    ['Delete', active, { do: 'delete' }],
    ['Delete', undefined, { do: 'note', after: undefined }],
    ['Revoke', active, { do: 'revoke', after: { ...LINK, code: CODE } }],
    ['Revoke', cutOff, { do: 'release' }],
    ['Retain', active, { do: 'release' }],
    ['Delete', ofAnother, { do: 'note', after: undefined }],
    ['Revoke', ofAnother, { do: 'note', after: undefined }],
  ] as const)('%s of %o → %o', (policy, app, step) => {
    // Whatever has become of the account's own resource.
    const facts = factsWith({ app, account: { is: 'AccountNotFound' } });
    expect(stepOf(decide(leaving(policy), facts))).toEqual(step);
  });

  test('may go when nothing is left, and when what is left is refused', () => {
    expect(decide(leaving('Delete'), factsWith({ binding: undefined }))).toMatchObject({ settled: { conditions: [] } });
    const refused = [{ do: 'delete', code: 'not_found', says: undefined }] as const;
    const decision = decideFleetApp(leaving('Delete'), factsWith({ app: active }), { at: 0, refused });
    expect(stepOf(decision)).toEqual({ do: 'note', after: undefined });
  });
});
