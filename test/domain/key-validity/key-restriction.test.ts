import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ApiKeyRecord } from '../../../src/domain/records/account-records.ts';
import {
  hashOfKey,
  keyFields,
  matchedSecret,
  restrictedTo,
  withSecret,
} from '../../../src/domain/key-validity/key-expiry.ts';
import { isUsableFrom, isWithin, restrictionOf } from '../../../src/domain/key-validity/key-restriction.ts';
import { cidrFault } from '../../../src/text/ip-addresses.ts';
import { runs } from '../../support/run/effort.ts';

const ipv4 = fc.ipV4();
const ipv6 = fc
  .tuple(...Array.from({ length: 8 }, () => fc.integer({ min: 0, max: 0xffff })))
  .map((groups) => groups.map((group) => group.toString(16)).join(':'));
/** Few addresses, so that ranges meet. */
const near = fc
  .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 255 }))
  .map(([a, b]) => `10.0.${a}.${b}`);

/** The range of an address without bits beyond the prefix, by arithmetic of its own. */
function network(address: string, bits: number): string {
  const isSix = address.includes(':');
  const parts = isSix ? address.split(':').map((part) => Number.parseInt(part, 16)) : address.split('.').map(Number);
  const size = isSix ? 16 : 8;
  const kept = parts.map((part, at) => {
    const own = Math.max(0, Math.min(size, bits - at * size));
    return part & ~((1 << (size - own)) - 1) & (2 ** size - 1);
  });
  return `${isSix ? kept.map((part) => part.toString(16)).join(':') : kept.join('.')}/${bits}`;
}

const range = fc.oneof(
  fc.tuple(near, fc.integer({ min: 20, max: 32 })).map(([address, bits]) => network(address, bits)),
  fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })).map(([address, bits]) => network(address, bits)),
  fc.tuple(ipv6, fc.integer({ min: 97, max: 128 })).map(([address, bits]) => network(address, bits)),
);
const ranges = fc.array(range, { minLength: 1, maxLength: 4 });
const record = (allowedCidrs: readonly string[]): ApiKeyRecord => {
  const restriction = restrictionOf({ access: 'full', allowedCidrs });
  return { name: '', hash: '', createdAt: 0, ...(restriction && { restriction }) };
};

describe('the addresses of a key', () => {
  test('are those that Node finds in its ranges', () => {
    fc.assert(
      fc.property(ranges, fc.oneof(near, ipv4, ipv6), (allowedCidrs, client) => {
        const list = new BlockList();
        for (const text of allowedCidrs) {
          const [address = '', bits] = text.split('/');
          list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
        }
        expect(isUsableFrom(record(allowedCidrs), client)).toBe(
          list.check(client, isIP(client) === 6 ? 'ipv6' : 'ipv4'),
        );
      }),
      { numRuns: runs(300) },
    );
  });

  test('that lie within others are allowed by those, whatever the client', () => {
    fc.assert(
      fc.property(ranges, ranges, fc.oneof(near, ipv4), (inner, outer, client) => {
        const within = isWithin({ access: 'read', allowedCidrs: inner }, { access: 'full', allowedCidrs: outer });
        if (within && isUsableFrom(record(inner), client)) expect(isUsableFrom(record(outer), client)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
    const [all, some, part] = [[], ['10.0.0.0/8', '::/0'], ['10.1.0.0/16']];
    const scope = (allowedCidrs: readonly string[]) => ({ access: 'full', allowedCidrs }) as const;
    expect(
      [
        [all, all],
        [some, all],
        [all, some],
        [part, some],
        [some, part],
        [some, some],
      ].map(([inner = [], outer = []]) => isWithin(scope(inner), scope(outer))),
    ).toEqual([true, true, false, true, false, true]);
  });

  test('are ranges without bits beyond their prefix, and of no mapped addresses', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), fc.integer({ min: 0, max: 32 }), (address, bits) => {
        const whole = network(address, bits);
        expect(cidrFault(whole)).toBe(undefined);
        const isFirst =
          whole.split('/')[0] === (address.includes(':') ? network(address, 128) : network(address, 32)).split('/')[0];
        expect(cidrFault(`${address}/${bits}`) === undefined).toBe(isFirst);
      }),
      { numRuns: runs(300) },
    );
  });
});

test('a mark keeps every secret of a key, and a hash without it opens a restricted key no more', () => {
  fc.assert(
    fc.property(fc.option(fc.integer({ min: 1 }), { nil: undefined }), fc.boolean(), (expiresAt, rotated) => {
      const restriction = restrictionOf({ access: 'read', allowedCidrs: [] });
      const first: ApiKeyRecord = { name: '', createdAt: 0, ...keyFields('first', expiresAt) };
      const second = { hash: 'second', createdBy: 'operator', formerUntil: 5, expiresAt };
      const plain = rotated ? withSecret(first, second) : first;
      const held = restrictedTo(plain, restriction);
      for (const hash of rotated ? ['first', 'second'] : ['first']) {
        expect(matchedSecret(held, (known) => known === hash)).toBe(hash);
        expect(JSON.stringify(held)).not.toContain(`"${hash}"`);
      }
      expect(restrictedTo(held, undefined)).toEqual(plain);
      const forged = { ...plain, ...(restriction && { restriction }) };
      expect([hashOfKey(forged), matchedSecret(forged, (known) => known === 'first' || known === 'second')]).toEqual([
        '',
        undefined,
      ]);
    }),
    { numRuns: runs(50) },
  );
});
