import { describe, expect, test } from 'vitest';
import {
  causeOfKeyStep,
  decideFleetApiKey,
} from '../../../../src/controller/kubernetes/resources/fleet-api-key-decide.ts';
import type {
  FleetApiKeyFacts,
  FleetApiKeyResource,
  FleetApiKeyStep,
} from '../../../../src/controller/kubernetes/resources/fleet-api-key-facts.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { anAccount } from '../../../support/kubernetes/an-account.ts';
import { anApiKey, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

const HOUR = 3_600_000;
const NOW = 1000 * HOUR;

const account = anAccount('a'.repeat(16));

const key = { keyId: 'k1', hash: 'h1', issuedAt: NOW - HOUR, secretName: 'secret' };
const previousKey = { keyId: 'k0', validUntil: NOW + HOUR };
/** Noted: another secret of the key, and the first one of a new key. */
const rotation = { hash: 'h2' };
const pending = { keyId: 'k2', hash: 'h2' };
const NONE = { key: false, previousKey: false };
const base: BindingRecord = {
  kind: 'FleetApiKey',
  namespace: 'team',
  name: 'ci',
  accountId: account.id,
  generation: 1,
};

interface Given extends Partial<Omit<FleetApiKeyFacts, 'binding'>> {
  readonly binding?: Partial<BindingRecord> | undefined;
}

/** A key that is in its Secret and registered. */
const factsWith = (given: Given = {}): FleetApiKeyFacts => ({
  account: { is: 'ready', account },
  room: true,
  writers: [],
  isDressed: true,
  registered: { key: true, previousKey: true },
  secret: { own: true, digest: 'h1' },
  ...given,
  binding: 'binding' in given && !given.binding ? undefined : foundAt(3, { ...base, key, ...given.binding }),
});

const decide = (resource: FleetApiKeyResource, facts: FleetApiKeyFacts, at = NOW) =>
  decideFleetApiKey(resource, facts, { at, refused: [] });

const ISSUE = { do: 'issue' };
const rotating = anApiKey({ rotation: { interval: '2h', overlap: '30m' } });
const HALF_HOUR = HOUR / 2;

describe('what is done first', () => {
  test.each<[string, Given, object | undefined]>([
    ['nothing was ever made', { binding: undefined, secret: undefined }, ISSUE],
    [
      'a key was noted, but its Secret was never written',
      { binding: { key: undefined, pending }, registered: NONE, secret: undefined },
      ISSUE,
    ],
    [
      'a key was noted, and the Secret holds another value',
      { binding: { key: undefined, pending }, registered: NONE, secret: { own: true, digest: 'foreign' } },
      ISSUE,
    ],
    [
      'a key was noted, and the Secret lacks the value',
      { binding: { key: undefined, pending }, registered: NONE, secret: { own: true, digest: undefined } },
      ISSUE,
    ],
    [
      'the Secret holds what was noted: the same hash is registered',
      { binding: { key: undefined, pending }, registered: NONE, secret: { own: true, digest: 'h2' } },
      { do: 'register' },
    ],
    [
      'the same while a key works: it is the next secret of that',
      { binding: { rotation }, secret: { own: true, digest: 'h2' } },
      { do: 'rotate', overlapMs: 600_000 },
    ],
    [
      'the Secret holds another key, which an earlier version had noted beside the one that works',
      { binding: { pending }, secret: { own: true, digest: 'h2' } },
      ISSUE,
    ],
    ['all is as it should be', {}, undefined],
    ['its labels or annotations are not right', { isDressed: false }, { do: 'dress' }],
    ['a secret was noted, and then the reason for it went away', { binding: { rotation } }, undefined],
    ['the Secret was deleted', { secret: undefined }, ISSUE],
    ['the Secret was overwritten', { secret: { own: true, digest: 'foreign' } }, ISSUE],
    ['the former secret still works', { formerUntil: NOW + HOUR }, undefined],
    ['another secret is due, and the former one still works', { formerUntil: NOW + 1, secret: undefined }, undefined],
    [
      'the key was rotated outside, and the spec changed since: pods have the former secret',
      { binding: { generation: 0 }, isChangedOutside: true, formerUntil: NOW + 1 },
      undefined,
    ],
    [
      'the same, and a secret is on its way',
      {
        binding: { generation: 0, rotation },
        isChangedOutside: true,
        formerUntil: NOW + 1,
        secret: { own: true, digest: 'h2' },
      },
      undefined,
    ],
    ['the same, and the former secret has ended', { binding: { generation: 0 }, isChangedOutside: true }, ISSUE],
    [
      'what was noted is that of a key that was revoked',
      { binding: { generation: 0, rotation }, registered: NONE, secret: { own: true, digest: 'h2' } },
      ISSUE,
    ],
    [
      'the Secret of another name holds a secret that still works',
      { binding: { oldSecret: 'old' }, formerUntil: NOW + 1 },
      undefined,
    ],
    ['the key before, of an earlier version, still works', { binding: { previousKey } }, undefined],
    [
      'the key before has had its time',
      { binding: { previousKey: { ...previousKey, validUntil: NOW } } },
      { do: 'revoke', keyId: 'k0', after: { ...base, key } },
    ],
    [
      'the key before was revoked by somebody else',
      { binding: { previousKey }, registered: { key: true, previousKey: false } },
      { do: 'note', after: { ...base, key } },
    ],
    [
      'another key is due, and there is one before this one still',
      { binding: { previousKey }, secret: undefined },
      undefined,
    ],
    [
      'the same, and the key before has just had its time',
      { binding: { previousKey: { ...previousKey, validUntil: NOW } }, secret: undefined },
      { do: 'revoke', keyId: 'k0', after: { ...base, key } },
    ],
    [
      'the same, and the key before was revoked by somebody: nothing has to be awaited',
      { binding: { previousKey }, secret: undefined, registered: { key: true, previousKey: false } },
      { do: 'note', after: { ...base, key } },
    ],
    [
      'the Secret of another name has had its time',
      { binding: { oldSecret: 'old' } },
      { do: 'removeSecret', name: 'old', after: { ...base, key } },
    ],
    [
      'the Secret of another name holds a key that still works',
      { binding: { oldSecret: 'old', previousKey } },
      undefined,
    ],
    [
      'the Secret’s name was changed, and changed back',
      { binding: { oldSecret: 'secret' } },
      { do: 'note', after: { ...base, key } },
    ],
  ])('%s', (_when, given, step) => {
    expect(stepOf(decide(anApiKey(), factsWith(given)))).toEqual(step);
  });
});

describe('a key that was revoked outside of Kubernetes', () => {
  const revoked = factsWith({ registered: { key: false, previousKey: false } });

  test('stays revoked', () => {
    expect(reasonOf(decide(anApiKey(), revoked))).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  });

  test('stays revoked when its Secret goes, and when its rotation is due', () => {
    const facts = { ...revoked, secret: undefined };
    expect(reasonOf(decide(rotating, facts, NOW + 10 * HOUR))).toMatchObject({ reason: 'ChangedOutside' });
  });

  test('has a successor once the spec has changed', () => {
    expect(stepOf(decide(anApiKey({}, { generation: 2 }), revoked))).toEqual(ISSUE);
  });

  test('is not in the status any more', () => {
    const decision = decide(anApiKey(), revoked);
    expect('settled' in decision && decision.settled.status).toEqual({});
  });
});

describe('a new generation', () => {
  const second = (spec: Partial<FleetApiKeyResource['spec']> = {}) => anApiKey(spec, { generation: 2 });

  test('that does not change the key is noted', () => {
    expect(stepOf(decide(second(), factsWith()))).toEqual({ do: 'note', after: { ...base, key, generation: 2 } });
  });

  test.each([
    [{ secretRef: { name: 'renamed', key: 'apiKey' } }, undefined, 'another Secret'],
    [{ secretRef: { name: 'secret', key: 'token' } }, { own: true, digest: undefined }, 'another key in it'],
  ])('with %o issues another key (%s)', (spec, secret, _what) => {
    expect(stepOf(decide(second(spec), factsWith({ secret })))).toEqual(ISSUE);
  });
});

describe('rotation', () => {
  test.each([
    [HOUR - 1, undefined, 'a moment before'],
    [HOUR, ISSUE, 'two hours after the issue'],
  ])('in %d ms: %o (%s)', (inMs, step, _when) => {
    expect(stepOf(decide(rotating, factsWith(), NOW + inMs))).toEqual(step);
  });

  test('overlaps as the spec says', () => {
    const facts = factsWith({ binding: { rotation }, secret: { own: true, digest: 'h2' } });
    expect(stepOf(decide(rotating, facts))).toEqual({ do: 'rotate', overlapMs: HALF_HOUR });
  });

  test('is announced in the status, and happens by itself', () => {
    const decision = decide(rotating, factsWith());
    expect('settled' in decision && decision.settled).toMatchObject({
      status: { keyId: 'k1', nextRotationAt: new Date(NOW + HOUR).toISOString().replace('.000Z', 'Z') },
      requeueAfterMs: HOUR,
    });
  });

  test.each<[string, Given]>([
    ['former secret', { formerUntil: NOW + HALF_HOUR }],
    ['key before', { binding: { previousKey: { keyId: 'k0', validUntil: NOW + HALF_HOUR } } }],
  ])('requeues for the end of the %s, where that is sooner, and the status tells it', (_what, given) => {
    const decision = decide(rotating, factsWith(given));
    expect('settled' in decision && decision.settled).toMatchObject({
      status: { previousKeyValidUntil: new Date(NOW + HALF_HOUR).toISOString().replace('.000Z', 'Z') },
      requeueAfterMs: HALF_HOUR,
    });
  });
});

describe('what keeps a key from being issued', () => {
  const none: Given = { binding: undefined, secret: undefined };

  test.each([{ is: 'AccountNotFound' }, { is: 'AccountNotReady' }, { is: 'AccountReplaced', accountId: 'b' }] as const)(
    '$is',
    (account) => {
      const decision = decide(anApiKey(), factsWith({ ...none, account }));
      expect(reasonOf(decision)).toMatchObject({ reason: account.is });
    },
  );

  test('a Secret that Muster did not create', () => {
    const facts = factsWith({ ...none, secret: { own: false, digest: 'h' } });
    expect(reasonOf(decide(anApiKey(), facts))).toMatchObject({ status: 'False', reason: 'SecretNotOwned' });
  });

  test('an account that has no room, before the Secret is written; another secret of a key needs none', () => {
    const facts = factsWith({ ...none, registered: NONE, room: false });
    expect(reasonOf(decide(anApiKey(), facts))).toMatchObject({ reason: 'LimitReached' });
    expect(stepOf(decide(anApiKey(), factsWith({ secret: undefined, room: false })))).toEqual(ISSUE);
  });

  test('a refusal', () => {
    const refused = [{ do: 'register', code: 'not_found', says: 'words' }] as const;
    const decision = decideFleetApiKey(anApiKey(), factsWith(), { at: NOW, refused });
    expect(reasonOf(decision)).toMatchObject({ reason: 'Refused', message: 'words' });
  });
});

describe('a resource that is being deleted', () => {
  const deleting = anApiKey({}, { deleting: true });

  test.each<[string, Given, object | undefined]>([
    [
      'first gives the key before back',
      { binding: { previousKey } },
      { do: 'revoke', keyId: 'k0', after: { ...base, key } },
    ],
    ['then the key, and its binding in the same commit', {}, { do: 'revoke', keyId: 'k1', after: undefined }],
    [
      'then what is left of the binding',
      { registered: { key: false, previousKey: false } },
      { do: 'note', after: undefined },
    ],
    ['forgets what was never registered', { binding: { key: undefined, pending } }, { do: 'note', after: undefined }],
    [
      'does so without its account',
      { account: { is: 'AccountNotFound' } },
      { do: 'revoke', keyId: 'k1', after: undefined },
    ],
    ['goes when nothing is left', { binding: undefined }, undefined],
  ])('%s', (_what, given, step) => {
    expect(stepOf(decide(deleting, factsWith(given)))).toEqual(step);
  });
});

test.each<[string, Given, FleetApiKeyStep['do']]>([
  ['was revoked', { registered: NONE }, 'register'],
  ['was rotated, or made to end sooner,', { isChangedOutside: true }, 'rotate'],
])('a key that %s while its next secret was on the way has none: it is dropped', (_what, changed, next) => {
  const given: Given = { binding: { rotation, pending }, secret: { own: true, digest: 'h2' }, ...changed };
  const step = stepOf(decide(anApiKey(), factsWith(given)));
  expect(step).toEqual({ do: 'note', after: { ...base, key } });
  // A person who changes the spec asks for it.
  expect(stepOf(decide(anApiKey({}, { generation: 2 }), factsWith(given)))).toEqual(
    expect.objectContaining({ do: next }),
  );
});

describe('a Secret that has lost its key while a former one works', () => {
  const rival: Given = { secret: { own: true, digest: 'foreign' }, writers: ['rival'] };
  const lost = factsWith({ ...rival, binding: { previousKey } });

  test.each<[string, Given, string]>([
    ['secret', { formerUntil: NOW + HOUR }, 'end-overlap'],
    ['key', { binding: { previousKey } }, 'k0; revoke it'],
  ])('names the other writer, the former %s and its end, and is looked at then', (_what, former, how) => {
    const decision = decide(anApiKey(), factsWith({ ...rival, ...former }));
    const ready = reasonOf(decision);
    expect(ready).toMatchObject({ status: 'False', reason: 'WriteConflict' });
    for (const word of ['“rival”', ...how.split('; '), new Date(NOW + HOUR).toISOString().replace('.000Z', 'Z')]) {
      expect(ready?.message).toContain(word);
    }
    expect('settled' in decision && decision.settled.requeueAfterMs).toBe(HOUR);
  });

  test('has another one at once where the current key was revoked: the former one stays the only one', () => {
    const registered = { key: false, previousKey: true };
    expect(stepOf(decide(anApiKey({}, { generation: 2 }), { ...lost, registered }))).toEqual(ISSUE);
  });

  test('a rotation that is due waits, and the key is Issued', () => {
    const facts = factsWith({ formerUntil: NOW + 2 * HOUR });
    expect(reasonOf(decide(rotating, facts, NOW + HOUR))).toMatchObject({ status: 'True', reason: 'Issued' });
  });
});

describe('the cause of a step', () => {
  const cause = (given: Given, more: Partial<FleetApiKeyResource> = {}, step: FleetApiKeyStep = { do: 'issue' }) =>
    causeOfKeyStep(step, anApiKey({}, more), factsWith(given))?.cause;

  test.each<[string, Given, Partial<FleetApiKeyResource>, string | undefined]>([
    ['a first key has none', { binding: undefined }, {}, undefined],
    ['a further key of the same spec is an answer to somebody', {}, {}, 'outside'],
    ['a further key of another spec was asked for', {}, { generation: 2 }, 'spec'],
    ['one that was lost before it was registered is an answer', { binding: { pending } }, { generation: 2 }, 'outside'],
    ['a secret that was lost before it was the key’s is one', { binding: { rotation } }, { generation: 2 }, 'outside'],
  ])('%s', (_what, given, more, expected) => {
    expect(cause(given, more)).toBe(expected);
  });

  test('a restored Secret that is taken over is an answer, as often as somebody frees it', () => {
    expect(cause({}, {}, { do: 'takeSecret' })).toBe('outside');
  });

  test('a revocation has none', () => {
    expect(cause({}, {}, { do: 'revoke', keyId: 'k1', after: undefined })).toBeUndefined();
  });
});

describe('a key that expires', () => {
  const AT = '2030-01-01T00:00:00Z';
  const END = Date.parse(AT);
  const expiring = anApiKey({ expiresAt: AT });
  const made = { ...key, expiresAt: END, issuedAt: END - HOUR };

  test.each<[string, Given, number, object | undefined]>([
    ['is issued before', { binding: undefined }, END - 1, ISSUE],
    ['is not issued at its instant', { binding: undefined }, END, undefined],
    ['stays until then', { binding: { key: made } }, END - 1, undefined],
    ['is another one where the spec has another instant', { binding: { key } }, END - 1, ISSUE],
    [
      'takes its former one with it',
      { binding: { key: made, previousKey } },
      END,
      { do: 'revoke', keyId: 'k0', after: { ...base, key: made } },
    ],
    [
      'is revoked where it was made for a later instant',
      { binding: { key } },
      END,
      { do: 'revoke', keyId: 'k1', after: base },
    ],
    [
      'takes what was noted for it with it',
      { binding: { key, rotation } },
      END,
      { do: 'revoke', keyId: 'k1', after: base },
    ],
    ['is not made anew when its Secret goes', { binding: { key: made }, secret: undefined }, END, undefined],
  ])('%s', (_what, given, at, step) => {
    expect(stepOf(decide(expiring, factsWith(given), at))).toEqual(step);
  });

  test('says so at its instant, and is looked at then', () => {
    const facts = factsWith({ binding: { key: made } });
    const before = decide(expiring, facts, END - 1000);
    expect('settled' in before && before.settled.requeueAfterMs).toBe(1000);
    expect(reasonOf(decide(expiring, facts, END))).toMatchObject({ status: 'False', reason: 'KeyExpired' });
  });
});
