import { describe, expect, test } from 'vitest';
import { decideFleetApp, type FleetAppStep } from '../../../../src/controller/kubernetes/resources/fleet-app-decide.ts';
import type {
  FleetAppFacts,
  FleetAppResource,
} from '../../../../src/controller/kubernetes/resources/fleet-app-facts.ts';
import { enrolled, newApp, revoked, withCode } from '../../../../src/domain/apps/app-state.ts';
import type { AppRecord } from '../../../../src/domain/records/app-records.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

/* A FleetApp whose Secret holds a supervisor's file, with a credential of Muster's making. */

const APP = 'p'.repeat(20);
const NOW = 86_400_000;

type Enrollment = NonNullable<FleetAppResource['spec']['enrollment']>;
const enrollmentOf = (issue: Enrollment['issue']): Enrollment => ({ issue, secretRef: { name: 'box' } });
const resourceWith = (
  spec: Partial<FleetAppResource['spec']> = {},
  more: Partial<FleetAppResource> = {},
): FleetAppResource =>
  asResource(
    'FleetApp',
    {
      accountRef: { name: 'acme' },
      secretFormat: 'opamp',
      desiredState: 'Active',
      deletionPolicy: 'Delete',
      enrollment: enrollmentOf('UntilEnrolled'),
      ...spec,
    },
    more,
  );
const NEXT = { generation: 2 };

const pending = newApp('one', 0, 0);
const enrolledBy = (credential: string): AppRecord =>
  enrolled(pending, { code: '', credential, platform: '', agentVersion: '', connection: 'cloud', at: 1 });
const active = enrolledBy('c1');
const cutOff = revoked(active, 2);
const FILE = { digest: 'f1', settings: 's1' };
const CONTENT = { appId: 'A', serverUrl: 'U' };
const SECRET = { ...CONTENT, credential: 'c1', 'supervisor.yaml': 'f1' };

const LINK: BindingRecord = {
  kind: 'FleetApp',
  namespace: 'team',
  name: 'one',
  accountId: 'a',
  generation: 1,
  appId: APP,
  secretName: 'box',
};
const NOTED = { credential: { hash: 'c1', file: FILE } };
const bindingOf = (more: Partial<BindingRecord> = NOTED): NonNullable<FleetAppFacts['binding']> =>
  foundAt(7, { ...LINK, ...more });
const holding = (digests: Readonly<Record<string, string>>): FleetAppFacts['secret'] => ({ own: true, digests });
/** The app is enrolled by the credential in the Secret, unless the facts say otherwise. */
const factsWith = (facts: Partial<FleetAppFacts> = {}): FleetAppFacts => ({
  binding: bindingOf(),
  account: aReadyAccount('a'),
  app: active,
  candidate: undefined,
  namespaceUid: undefined,
  isDressed: true,
  seenAt: null,
  secret: holding(SECRET),
  wanted: { ...CONTENT, settings: 's1' },
  ...facts,
});
const decide = (resource: FleetAppResource, facts: Partial<FleetAppFacts> = {}) =>
  decideFleetApp(resource, factsWith(facts), { at: NOW, refused: [] });
const onTheWay = (hash: string) => bindingOf({ pending: { hash, file: FILE } });

describe('from nothing to an enrolled app', () => {
  test.each([
    [{ binding: undefined, app: undefined, secret: undefined }, { do: 'create' }, 'nothing is there'],
    [{ binding: bindingOf({}), app: pending, secret: undefined }, { do: 'issueCredential' }, 'an app alone'],
    [
      { binding: onTheWay('c1'), app: pending, secret: undefined },
      { do: 'issueCredential' },
      'the process ended before the Secret was written: another is generated',
    ],
    [{ binding: onTheWay('c1'), app: pending }, { do: 'enroll' }, 'the Secret holds what was noted'],
    [
      { binding: onTheWay('c2'), app: pending },
      { do: 'issueCredential' },
      'the Secret holds what nobody noted: the app is never enrolled with it',
    ],
    [
      { binding: bindingOf({ pending: { hash: 'c1' } }), app: pending },
      { do: 'issueCredential' },
      'the hash of a code, which somebody wrote under the key of the credential',
    ],
  ] as const)('%# → %o (%s)', (facts, step, _why) => {
    expect(stepOf(decide(resourceWith(), facts))).toEqual(step);
  });

  test.each(['Once', 'UntilEnrolled', 'Never'] as const)('is Ready with the credential in place: %s', (issue) => {
    const decision = decide(resourceWith({ enrollment: enrollmentOf(issue) }));
    expect(reasonOf(decision)).toMatchObject({ status: 'True', reason: 'Active' });
  });

  test('makes none where none is asked for', () => {
    const resource = resourceWith({ enrollment: enrollmentOf('Never') });
    const facts = { binding: bindingOf({}), app: pending };
    expect(stepOf(decide(resource, { ...facts, secret: undefined }))).toEqual({ do: 'write', withoutCode: false });
    expect(reasonOf(decide(resource, { ...facts, secret: holding(CONTENT) }))?.reason).toBe('Created');
  });

  test('makes none in a disabled account, and says so', () => {
    const account = aReadyAccount('a');
    if (account.is !== 'ready') throw new Error('the account is ready');
    const disabled = { ...account.account, record: { ...account.account.record, disabled: true } };
    const facts = {
      account: { is: 'ready', account: disabled },
      binding: bindingOf({}),
      app: pending,
      secret: holding(CONTENT),
    } as const;
    expect(reasonOf(decide(resourceWith(), facts))).toMatchObject({ status: 'False', reason: 'Refused' });
  });

  test('tells where the credential was taken meanwhile', () => {
    const refused = [{ do: 'enroll', code: 'conflict', says: 'Delete the Secret.' }] as const;
    const facts = factsWith({ binding: onTheWay('c1'), app: pending });
    const decision = decideFleetApp(resourceWith(), facts, { at: NOW, refused });
    expect(reasonOf(decision)).toMatchObject({ reason: 'Refused', message: 'Delete the Secret.' });
  });
});

describe('a Secret that lost the credential', () => {
  test.each([
    ['UntilEnrolled', undefined, 1, { do: 'issueCredential' }, undefined, 'it was deleted'],
    [
      'UntilEnrolled',
      holding({ ...SECRET, credential: 'x' }),
      1,
      { do: 'issueCredential' },
      undefined,
      'another stands there',
    ],
    ['Once', holding(CONTENT), 1, undefined, 'CredentialLost', 'the only one is lost'],
    ['Once', holding({ ...SECRET, credential: 'x' }), 1, { do: 'write', withoutCode: false }, undefined, 'a dead one'],
    ['Once', undefined, 2, { do: 'issueCredential' }, undefined, 'a changed spec, perhaps with another Secret'],
    ['Never', holding(CONTENT), 1, undefined, 'Active', 'nothing is asked for'],
  ] as const)('%s, %o, generation %d → %o %s (%s)', (issue, secret, generation, step, reason, _why) => {
    const decision = decide(resourceWith({ enrollment: enrollmentOf(issue) }, { generation }), { secret });
    expect(stepOf(decision)).toEqual(step);
    expect(reasonOf(decision)?.reason).toBe(reason);
  });

  test('is enrolled anew once the other credential is in it', () => {
    const binding = bindingOf({ ...NOTED, pending: { hash: 'c2', file: FILE } });
    const secret = holding({ ...SECRET, credential: 'c2' });
    expect(stepOf(decide(resourceWith(), { binding, secret }))).toEqual({ do: 'enroll' });
  });
});

describe('the Secret of an app that is enrolled', () => {
  test.each([
    [holding({ ...SECRET, serverUrl: 'x' }), FILE, 'another address'],
    [holding({ ...SECRET, 'supervisor.yaml': 'x' }), FILE, 'a changed file'],
    [holding({ ...CONTENT, credential: 'c1' }), FILE, 'no file'],
    [holding({ ...SECRET, enrollCode: 'h' }), FILE, 'a code beside it'],
    [holding(SECRET), { ...FILE, settings: 's0' }, 'a file made from other settings: the URL has changed'],
  ])('%o is rewritten with the same credential: %# (%s)', (secret, file, _what) => {
    const binding = bindingOf({ credential: { hash: 'c1', file } });
    expect(stepOf(decide(resourceWith(), { secret, binding }))).toEqual({ do: 'rewrite' });
  });

  test('of another owner is never written', () => {
    const secret = { own: false, digests: {} };
    expect(reasonOf(decide(resourceWith(), { secret }))).toMatchObject({ status: 'False', reason: 'SecretNotOwned' });
  });

  test('under another name goes once the new one is right', () => {
    const step = stepOf(decide(resourceWith(), { binding: bindingOf({ ...NOTED, secretName: 'old' }) }));
    expect(step).toMatchObject({ do: 'note', after: { secretName: 'box', oldSecret: 'old' } });
    const noted = bindingOf({ ...NOTED, oldSecret: 'old' });
    expect(stepOf(decide(resourceWith(), { binding: noted }))).toMatchObject({ do: 'removeSecret', name: 'old' });
  });

  test('loses file and credential where the spec asks for a code again', () => {
    const decision = decide(resourceWith({ secretFormat: 'enrollment' }, NEXT));
    expect(stepOf(decision)).toEqual({ do: 'write', withoutCode: false });
  });

  test('goes where no enrollment is asked for, and the app stays', () => {
    const { enrollment: _none, ...spec } = resourceWith().spec;
    const decision = decide({ ...resourceWith(), spec }, { secret: undefined });
    expect(stepOf(decision)).toMatchObject({ do: 'note', after: { oldSecret: 'box' } });
  });
});

describe('an app that another daemon is enrolled as', () => {
  const foreign = enrolledBy('c9');
  test.each([
    [{ binding: bindingOf({}), secret: undefined }, { do: 'write', withoutCode: false }, undefined, 'it was adopted'],
    [{ binding: bindingOf({}), secret: holding(CONTENT) }, undefined, 'EnrolledOutside', 'and stays as it is'],
    [{}, { do: 'write', withoutCode: false }, undefined, 'it took over from ours, which is removed'],
    [
      { binding: bindingOf({ ...NOTED, pending: { hash: 'c1', file: FILE } }) },
      { do: 'note', after: { ...LINK, ...NOTED } },
      undefined,
      'it was faster: what was generated is dropped',
    ],
  ])('is not taken over: %# → %o %s (%s)', (facts, step, reason, _why) => {
    for (const generation of [1, 2]) {
      const decision = decide(resourceWith({}, { generation }), { app: foreign, ...facts });
      const noted = generation === 2 && step === undefined ? { do: 'note', after: { ...LINK, generation } } : step;
      expect(stepOf(decision)).toEqual(noted);
      if (generation === 1) expect(reasonOf(decision)?.reason).toBe(reason);
    }
  });

  test('is as it should be where no credential is asked for', () => {
    const resource = resourceWith({ enrollment: enrollmentOf('Never') });
    const facts = { app: foreign, binding: bindingOf({}), secret: holding(CONTENT) };
    expect(reasonOf(decide(resource, facts))).toMatchObject({ status: 'True', reason: 'Active' });
  });
});

describe('a code that was issued before', () => {
  const code = { hash: 'h1', expiresAt: 30 * NOW };
  const app = withCode(pending, { hash: 'h1', issuedAt: 0 });

  test('gives way to a credential', () => {
    const facts = { app, binding: bindingOf({ code }), secret: holding({ ...CONTENT, enrollCode: 'h1' }) };
    expect(stepOf(decide(resourceWith({}, NEXT), facts))).toEqual({ do: 'issueCredential' });
  });

  test('is voided where no credential follows', () => {
    const facts = { app, binding: bindingOf({ code }), secret: holding(CONTENT) };
    const resource = resourceWith({ enrollment: enrollmentOf('Never') }, NEXT);
    expect(stepOf(decide(resource, facts))).toEqual({ do: 'void' });
  });
});

describe('less access', () => {
  test('is carried out at every reconciliation, and the credential leaves the Secret', () => {
    const resource = resourceWith({ desiredState: 'Revoked' });
    expect(stepOf(decide(resource))).toMatchObject({ do: 'revoke' });
    expect(stepOf(decide(resource, { app: cutOff }))).toEqual({ do: 'write', withoutCode: false });
    expect(reasonOf(decide(resource, { app: cutOff, secret: holding(CONTENT) }))).toMatchObject({
      status: 'True',
      reason: 'Revoked',
    });
  });

  test.each([
    [{ app: cutOff, secret: holding(CONTENT) }, undefined, 'ChangedOutside', 'a revoked app stays so'],
    [
      { app: cutOff, binding: onTheWay('c1') },
      { do: 'note', after: LINK },
      undefined,
      'also where a credential was on its way: the app is not enrolled with it',
    ],
    [{ app: undefined }, undefined, 'ChangedOutside', 'a deleted one, too'],
  ])('that came from outside stays: %# → %o %s (%s)', (facts, step, reason, _why) => {
    const decision = decide(resourceWith(), facts);
    expect(stepOf(decision)).toEqual(step);
    expect(reasonOf(decision)?.reason).toBe(reason);
  });

  test('ends with the next generation of the spec', () => {
    const facts = { app: cutOff, secret: holding(CONTENT) };
    expect(stepOf(decide(resourceWith({}, NEXT), facts))).toEqual({ do: 'issueCredential' });
    const never = resourceWith({ enrollment: enrollmentOf('Never') });
    expect(reasonOf(decide(never, facts))).toMatchObject({ status: 'False', reason: 'Revoked' });
  });
});

/** What the steps change, and the credentials that have ever been in the Secret. */
interface World {
  binding: BindingRecord;
  app: AppRecord;
  secret: Record<string, string> | undefined;
  made: number;
  readonly inSecret: Set<string>;
}

/** The changes of a step in their order; the process may end behind each. */
function changesOf(step: FleetAppStep, world: World, settings: string): readonly (() => void)[] {
  const write = (credential: string) => (): void => {
    world.secret = { ...CONTENT, credential, 'supervisor.yaml': `file of ${credential}, ${settings}` };
    world.inSecret.add(credential);
  };
  const noted = (hash: string) => ({ hash, file: { digest: `file of ${hash}, ${settings}`, settings } });
  if (step.do === 'issueCredential') {
    const hash = `c${(world.made += 1)}`;
    return [() => (world.binding = { ...world.binding, pending: noted(hash) }), write(hash)];
  }
  if (step.do === 'enroll') {
    const { pending: { hash, file } = { hash: '' }, ...rest } = world.binding;
    if (!file) throw new Error('nothing is noted');
    // One commit.
    const enroll = (): void => {
      world.app = enrolledBy(hash);
      world.binding = { ...rest, generation: 2, credential: { hash, file } };
    };
    return [enroll];
  }
  if (step.do === 'rewrite') {
    const credential = world.secret?.['credential'] ?? '';
    return [write(credential), () => (world.binding = { ...world.binding, credential: noted(credential) })];
  }
  if (step.do === 'note') return [() => (world.binding = step.after ?? world.binding)];
  throw new Error(`the step ${step.do} is not expected`);
}

/** Decides and acts until no step is left, or so many changes have been made. */
function live(world: World, settings: string, changes: number): 'settled' | 'ended' {
  for (let left = changes, steps = 0; steps < 12; steps += 1) {
    const { binding: record, app } = world;
    const facts = { binding: foundAt(1, record), app, secret: world.secret && holding(world.secret) };
    const decision = decide(resourceWith({}, NEXT), { ...facts, wanted: { ...CONTENT, settings } });
    const step = stepOf(decision);
    if (!step) {
      expect(reasonOf(decision)?.reason).toBe('Active');
      return 'settled';
    }
    for (const change of changesOf(step, world, settings)) {
      if (left === 0) return 'ended';
      change();
      left -= 1;
      const works = world.app.credential;
      if (works !== undefined) expect(world.inSecret, 'what works has been in the Secret').toContain(works);
    }
  }
  throw new Error('the steps do not come to an end');
}

describe.each([
  ['a new app', pending, {}, undefined],
  ['a Secret that was deleted', active, NOTED, undefined],
  ['another URL', active, NOTED, SECRET],
  ['a revoked app whose spec was changed', cutOff, NOTED, CONTENT],
] as const)('%s', (_what, app, noted, secret) => {
  test('ends with one credential that works, in the Secret, wherever the process ends on the way', () => {
    for (let changes = 0, outcome = 'ended'; outcome === 'ended'; changes += 1) {
      const { credential } = app;
      const inSecret = new Set(credential === undefined ? [] : [credential]);
      const world: World = { binding: { ...LINK, ...noted }, app, secret, made: 1, inSecret };
      outcome = live(world, 's2', changes);
      expect(live(world, 's2', 100)).toBe('settled');
      const works = world.app.credential ?? '';
      expect(world.secret).toEqual({ ...CONTENT, credential: works, 'supervisor.yaml': `file of ${works}, s2` });
      expect(world.binding).toMatchObject({ generation: 2, credential: { hash: works } });
      expect(world.binding).not.toHaveProperty('pending');
    }
  });
});
