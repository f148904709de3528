import fc from 'fast-check';
import { expect, test } from 'vitest';
import { actorNameOf, namesOf, targetOf, type EntryIds, type ReadName } from '../../../src/domain/audit/names.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { OPERATOR_AUDIT } from '../../../src/domain/records/audit-records.ts';
import { BadRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { StoreUnavailable } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';

/* Which names an entry of the audit keeps. */

const [ACCOUNT, APP] = ['a1b2c3d4e5f6g7h8', 'k3v9x0q2m7t5b8n1c4d6'];

test.each<[string, EntryIds, string | undefined, string]>([
  [ACCOUNT, { appId: APP, detail: { keyId: 'k' } }, `app:${APP}`, 'an app comes before what the detail has'],
  [ACCOUNT, { detail: { keyId: 'k', maker: 'u' } }, 'key:k', 'a key, and not its maker'],
  [ACCOUNT, { detail: { userId: 'u', linkId: 'l' } }, 'user:u', 'the user whom a link made a member'],
  [ACCOUNT, { detail: { linkId: 'l', kind: 'invitation' } }, 'link:l', 'an invitation is for nobody yet'],
  [ACCOUNT, { detail: { revision: 7 } }, `account:${ACCOUNT}`, 'what is of no single thing is of its account'],
  [ACCOUNT, { detail: { userId: 7 } }, `account:${ACCOUNT}`, 'an id is a text'],
  [ACCOUNT, {}, `account:${ACCOUNT}`, 'nothing more is told'],
  [OPERATOR_AUDIT, { detail: { accountId: ACCOUNT } }, `account:${ACCOUNT}`, 'the account of an export'],
  [OPERATOR_AUDIT, { detail: { accountId: OPERATOR_AUDIT } }, undefined, 'the export of the audit of the service'],
  [OPERATOR_AUDIT, { detail: { count: 2 } }, undefined, 'the service is no target'],
])('in the audit of %s, %j is done to %s: %s', (accountId, ids, target, _why) => {
  expect(targetOf(accountId, ids)).toBe(target);
});

test.each([
  [{ actor: 'operator' }, 'operator'],
  [{ actor: 'operator:terraform' }, 'terraform'],
  [{ actor: 'muster' }, 'muster'],
  [{ actor: 'kubernetes:shop/FleetApp/till-7' }, 'shop/FleetApp/till-7'],
  [{ actor: 'user:u', actorName: 'Ada' }, 'Ada'],
  [{ actor: 'user:u' }, undefined],
  [{ actor: 'key:k' }, undefined],
  [{ actor: `device:${APP}` }, undefined],
])('%j is named %s', (entry, name) => {
  expect(actorNameOf(entry)).toBe(name);
});

const entry = { accountId: ACCOUNT, actor: 'user:u', appId: APP };
const nothing = new Map<string, string>();

test('a name in a record that the change writes comes before the one that it was planned with', async () => {
  const read: ReadName = (_accountId, named) => `former ${named}`;
  const written = new Map([[KEYS.app(ACCOUNT, APP), JSON.stringify({ name: 'new' })]]);
  expect(await namesOf(entry, written, read)).toEqual({ actorName: 'former user:u', targetName: 'new' });
});

test.each([
  ['a record that is damaged', new BadRecord('user'), true],
  ['a store that does not answer', new StoreUnavailable('timeout', 'down'), true],
  ['a slip of the program', new TypeError('slip'), false],
])('%s: the name is left out, or it is told', async (_what, error, isLeftOut) => {
  const names = namesOf(entry, nothing, (_accountId, named) => {
    if (named === 'user:u') throw error;
    return 'till';
  });
  if (isLeftOut) await expect(names).resolves.toEqual({ targetName: 'till' });
  else await expect(names).rejects.toBe(error);
});

test('what the change writes is read as a record with a name, whatever it is', async () => {
  for (const text of ['{', '7', 'null', '{"name":7}', '{"name":""}']) {
    const written = new Map([[KEYS.app(ACCOUNT, APP), text]]);
    expect(await namesOf(entry, written, () => undefined)).toEqual({});
  }
});

test('any name is kept as it is within its bound of bytes, and cut between two characters beyond it', async () => {
  const any = fc.string({ unit: 'binary', minLength: 1, maxLength: LIMITS.accountNameCodePointsMax });
  const long = fc.string({ unit: fc.constantFrom('\u{1F600}', 'é', '漢', 'a'), minLength: 90, maxLength: 500 });
  await fc.assert(
    fc.asyncProperty(fc.oneof(any, long), async (name) => {
      const { targetName = '' } = await namesOf({ accountId: ACCOUNT, actor: 'operator' }, nothing, () => name);
      expect(Buffer.byteLength(targetName)).toBeLessThanOrEqual(LIMITS.auditNameBytesMax);
      if (Buffer.byteLength(name) <= LIMITS.auditNameBytesMax) {
        expect(targetName).toBe(name);
        return;
      }
      expect(targetName.endsWith('…')).toBe(true);
      expect(name.startsWith(targetName.slice(0, -1))).toBe(true);
      expect(targetName.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(targetName)).toBeGreaterThan(LIMITS.auditNameBytesMax - 4);
    }),
    { numRuns: runs(200) },
  );
});
