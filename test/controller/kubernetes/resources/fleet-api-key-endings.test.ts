import { describe, expect, test } from 'vitest';
import { decideFleetApiKey } from '../../../../src/controller/kubernetes/resources/fleet-api-key-decide.ts';
import type {
  FleetApiKeyFacts,
  FleetApiKeyResource,
} from '../../../../src/controller/kubernetes/resources/fleet-api-key-facts.ts';
import type { BindingRecord } from '../../../../src/domain/records/binding-records.ts';
import { aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { anApiKey, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

/* Keys that end, whatever else is wrong, and what a key waits for beside a former one. */

const HOUR = 3_600_000;
const NOW = Date.parse('2030-01-01T00:00:00Z');
const AT = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z');

const key = { keyId: 'k1', hash: 'h1', issuedAt: NOW - HOUR, secretName: 'secret' };
const previousKey = { keyId: 'k0', validUntil: NOW + HOUR };
const base: BindingRecord = { kind: 'FleetApiKey', namespace: 'team', name: 'ci', accountId: 'a', generation: 1, key };

const factsWith = (given: Partial<FleetApiKeyFacts> = {}, binding: Partial<BindingRecord> = {}): FleetApiKeyFacts => ({
  account: aReadyAccount('a'),
  room: true,
  writers: [],
  isDressed: true,
  registered: { key: true, previousKey: true },
  secret: { own: true, digest: 'h1', others: [] },
  ...given,
  binding: foundAt(3, { ...base, ...binding }),
});

const TROUBLES: readonly (readonly [string, Partial<FleetApiKeyFacts>])[] = [
  ['its account is not found', { account: { is: 'AccountNotFound' } }],
  ['its account is not ready', { account: { is: 'AccountNotReady' } }],
  ['its account is another one', { account: { is: 'AccountReplaced', accountId: 'b' } }],
  ['its Secret is somebody else’s', { secret: { own: false, digest: 'foreign', others: [] } }],
  ['its Secret is restored, and to be taken over', { secret: { own: false, orphan: true, digest: 'h1', others: [] } }],
  ['its Secret holds a key that is to be registered', { secret: { own: true, digest: 'h2', others: [] } }],
];

describe.each(TROUBLES)('where %s', (_where, trouble) => {
  const noted = { pending: { keyId: 'k2', hash: 'h2' } };
  const decided = (spec: Partial<FleetApiKeyResource['spec']>, binding: Partial<BindingRecord>) =>
    stepOf(decideFleetApiKey(anApiKey(spec), factsWith(trouble, { ...noted, ...binding }), { at: NOW, refused: [] }));

  test('a former key that has had its time ends all the same', () => {
    const due = { ...previousKey, validUntil: NOW };
    expect(decided({}, { previousKey: due })).toEqual({ do: 'revoke', keyId: 'k0', after: { ...base, ...noted } });
    expect(decided({}, { previousKey })).not.toMatchObject({ do: 'revoke' });
  });

  test('a key of a later instant than the spec has ends at that of the spec, and the former one with it', () => {
    const expiresAt = AT(NOW);
    expect(decided({ expiresAt }, { previousKey })).toMatchObject({ do: 'revoke', keyId: 'k0' });
    const { key: _ended, ...after } = { ...base, ...noted };
    expect(decided({ expiresAt }, {})).toEqual({ do: 'revoke', keyId: 'k1', after });
    expect(decided({ expiresAt: AT(NOW + 1) }, {})).not.toMatchObject({ do: 'revoke' });
  });
});

describe('a pause ends when a key is to end', () => {
  const MINUTE = 60_000;
  const revoked = { registered: { key: false, previousKey: true } };
  const pauseOf = (
    facts: Partial<FleetApiKeyFacts>,
    { spec = {}, binding = {} }: { spec?: Partial<FleetApiKeyResource['spec']>; binding?: Partial<BindingRecord> },
  ): number | undefined => {
    const decision = decideFleetApiKey(anApiKey(spec), factsWith(facts, binding), { at: NOW, refused: [] });
    return 'settled' in decision ? decision.settled.requeueAfterMs : undefined;
  };

  test.each<[string, Partial<FleetApiKeyFacts>, number]>([
    ['the key was revoked outside', revoked, 5 * MINUTE],
    ['its account is not ready', { account: { is: 'AccountNotReady' } }, MINUTE],
    ['its Secret is somebody else’s', { secret: { own: false, digest: 'foreign', others: [] } }, 25_000],
  ])('where %s', (_where, trouble, pauseMs) => {
    const previous = (validUntil: number) => ({ binding: { previousKey: { ...previousKey, validUntil } } });
    expect(pauseOf(trouble, previous(NOW + 2000))).toBe(2000);
    expect(pauseOf(trouble, previous(NOW + HOUR))).toBe(pauseMs);
  });

  test('at the instant of the spec, which an account that is not ready does not put off', () => {
    const trouble = { account: { is: 'AccountNotReady' } } as const;
    expect(pauseOf(trouble, { spec: { expiresAt: AT(NOW + 2000) } })).toBe(2000);
    expect(
      pauseOf(trouble, { spec: { expiresAt: AT(NOW - HOUR) }, binding: { key: { ...key, expiresAt: NOW - HOUR } } }),
    ).toBe(MINUTE);
  });
});

test('a revocation that was refused is not tried again in the same pass, and the refusal is told', () => {
  const facts = factsWith({}, { previousKey: { ...previousKey, validUntil: NOW } });
  const refused = [{ do: 'revoke', code: 'not_found', says: 'words' }] as const;
  expect(reasonOf(decideFleetApiKey(anApiKey(), facts, { at: NOW, refused }))).toMatchObject({ message: 'words' });
});

describe('a registration that was refused', () => {
  const told = (at: number, room: boolean) =>
    reasonOf(
      decideFleetApiKey(anApiKey({ expiresAt: AT(NOW) }), factsWith({ room }, { key: { ...key, expiresAt: NOW } }), {
        at,
        refused: [{ do: 'register', code: 'invalid_request', says: 'expiresAt must be in the future.' }],
      }),
    );

  test.each([
    [NOW, true, 'KeyExpired', 'its instant has passed meanwhile'],
    [NOW - 1, true, 'Refused', 'the clock of the commit was a little ahead: the words say so'],
    [NOW - 1, false, 'LimitReached', 'the account has no room'],
  ])('at %d, with room %s, says %s (%s)', (at, room, reason, _why) => {
    expect(told(at, room)).toMatchObject({ status: 'False', reason });
  });
});

test('a key that was rotated outside is not told to be right, and another one is issued when the spec changes', () => {
  const decided = (isChangedOutside: boolean, generation: number) =>
    decideFleetApiKey(anApiKey({}, { generation }), factsWith({ isChangedOutside }), { at: NOW, refused: [] });
  expect(reasonOf(decided(true, 1))).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
  expect(reasonOf(decided(false, 1))).toMatchObject({ status: 'True', reason: 'Issued' });
  expect(stepOf(decided(true, 2))).toEqual({ do: 'issue' });
  expect(stepOf(decided(false, 2))).toMatchObject({ do: 'note' });
});

describe('the scope of a key', () => {
  const full = { access: 'full', allowedCidrs: [] } as const;
  const read = { access: 'read', allowedCidrs: [] } as const;
  const inside = { access: 'read', allowedCidrs: ['10.0.0.0/8'] } as const;
  const decided = (
    spec: Partial<FleetApiKeyResource['spec']>,
    scopes: NonNullable<FleetApiKeyFacts['scopes']>,
    { generation = 1, given = {} }: { generation?: number; given?: Partial<FleetApiKeyFacts> } = {},
  ) =>
    decideFleetApiKey(anApiKey(spec, { generation }), factsWith({ scopes, ...given }, { previousKey }), {
      at: NOW,
      refused: [],
    });
  const scoping = (keyId: string) => ({ do: 'scope', keyId });

  test('is narrowed at once, of both keys, whatever else is wrong', () => {
    expect(stepOf(decided({ access: 'read' }, { key: full, previousKey: full }))).toEqual(scoping('k1'));
    expect(stepOf(decided({ access: 'read' }, { key: read, previousKey: full }))).toEqual(scoping('k0'));
    expect(stepOf(decided({ access: 'read', allowedCidrs: ['10.1.0.0/16'] }, { key: inside }))).toEqual(scoping('k1'));
    for (const [, given] of TROUBLES) {
      expect(stepOf(decided({ access: 'enroll' }, { key: full }, { given }))).toEqual(scoping('k1'));
    }
  });

  test('is widened when the spec changes, and told to be changed outside otherwise', () => {
    expect(stepOf(decided({}, { key: read, previousKey: read }, { generation: 2 }))).toEqual(scoping('k1'));
    expect(stepOf(decided({}, { key: full, previousKey: read }, { generation: 2 }))).toEqual(scoping('k0'));
    expect(stepOf(decided({}, { key: full, previousKey: full }, { generation: 2 }))).toMatchObject({ do: 'note' });
    expect(reasonOf(decided({}, { key: read }))).toMatchObject({ status: 'False', reason: 'ChangedOutside' });
    expect(reasonOf(decided({ access: 'read' }, { key: read }))).toMatchObject({ status: 'True', reason: 'Issued' });
  });
});

describe('beside a former key', () => {
  const waiting = (spec: Partial<FleetApiKeyResource['spec']>, generation: number, given: Partial<FleetApiKeyFacts>) =>
    reasonOf(
      decideFleetApiKey(anApiKey(spec, { generation }), factsWith({ writers: ['rival'], ...given }, { previousKey }), {
        at: NOW,
        refused: [],
      }),
    );

  test.each<[string, Partial<FleetApiKeyResource['spec']>, Partial<FleetApiKeyFacts>]>([
    ['another Secret', { secretRef: { name: 'renamed', key: 'apiKey' } }, { secret: undefined }],
    ['another expiry', { expiresAt: AT(NOW + 9 * HOUR) }, {}],
    [
      'another place in the Secret',
      { secretRef: { name: 'secret', key: 'token' } },
      { secret: { own: true, digest: undefined, others: ['h1'] } },
    ],
  ])('%s in the spec is no conflict: the key for it is on its way', (_what, spec, given) => {
    const ready = waiting(spec, 2, given);
    expect(ready).toMatchObject({ status: 'False', reason: 'Progressing' });
    expect(ready?.message).toContain('The spec asks for another secret');
    expect(ready?.message).toContain(AT(NOW + HOUR));
    expect(ready?.message).not.toContain('rival');
  });

  test.each<[string, number, Partial<FleetApiKeyFacts>]>([
    ['the Secret was changed', 1, { secret: { own: true, digest: 'foreign', others: [] } }],
    ['the Secret is gone', 1, { secret: undefined }],
    ['the key stands elsewhere in the Secret', 1, { secret: { own: true, digest: undefined, others: ['h1'] } }],
    ['the Secret was changed, and the spec in something else', 2, { secret: { own: true, digest: 'f', others: [] } }],
  ])('%s: a conflict', (_what, generation, given) => {
    expect(waiting({}, generation, given)).toMatchObject({ status: 'False', reason: 'WriteConflict' });
  });
});
