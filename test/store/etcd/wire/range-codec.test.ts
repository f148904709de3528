import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeRange } from '../../../../src/store/etcd/wire/range-codec.ts';
import { StoreUnavailable } from '../../../../src/store/port.ts';

/** Protocol Buffers as etcd writes them, for what the decoding must live with; the rest is tried on etcd itself. */
function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}
const number = (field: number, value: number | bigint): number[] => [
  ...varint(BigInt(field << 3)),
  ...varint(BigInt(value)),
];
const bytes = (field: number, content: Iterable<number>): number[] => {
  const held = [...content];
  return [...varint(BigInt((field << 3) | 2)), ...varint(BigInt(held.length)), ...held];
};
const fixed32 = (field: number): number[] => [...varint(BigInt((field << 3) | 5)), 1, 2, 3, 4];
const fixed64 = (field: number): number[] => [...varint(BigInt((field << 3) | 1)), 1, 2, 3, 4, 5, 6, 7, 8];

interface Kv {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
  readonly lease: bigint;
}
const kv = ({ key, value, revision, lease }: Kv, before: readonly number[] = []): number[] =>
  bytes(2, [
    ...before,
    ...bytes(1, Buffer.from(`/muster/${key}`)),
    ...number(2, 1),
    ...number(3, revision),
    ...number(4, 1),
    ...bytes(5, Buffer.from(value)),
    ...number(6, lease),
  ]);
const header = (revision: number | bigint): number[] =>
  bytes(1, [...number(1, 2n ** 63n), ...number(2, -1n), ...number(3, revision), ...number(4, 7)]);

const PREFIX_BYTES = '/muster/'.length;
const decode = (message: readonly number[]): unknown => decodeRange(Buffer.from(message), PREFIX_BYTES);

const anyKv = fc.record({
  key: fc.string({ maxLength: 20 }),
  value: fc.string({ unit: 'grapheme', maxLength: 40 }),
  revision: fc.oneof(fc.nat(), fc.maxSafeNat()),
  lease: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
});
/** A field that a newer etcd may add. */
const unknown = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => number(20, value)),
  fc.uint8Array({ maxLength: 300 }).map((content) => bytes(2000, content)),
  fc.constantFrom(fixed32(21), fixed64(22)),
);

test('reads what etcd says, and passes by what it does not know', () => {
  fc.assert(
    fc.property(
      fc.array(anyKv, { maxLength: 5 }),
      fc.boolean(),
      fc.maxSafeNat(),
      unknown,
      (kvs, more, revision, extra) => {
        const parts = [header(revision), extra, ...kvs.map((each) => kv(each, extra)), ...(more ? [number(3, 1)] : [])];
        const entries = kvs.map(({ key, value, revision: at }) => ({ key, value, revision: at }));
        expect(decode([...parts.flat(), ...number(4, kvs.length)])).toEqual({ entries, more, revision });
      },
    ),
  );
});

test.each([
  ['a revision that a number cannot hold', header(2n ** 53n)],
  ['a negative revision', header(-1n)],
  ['a part that is longer than the message', [0x12, 0x05, 0x0a]],
  ['a number that breaks off', [0x18, 0x80]],
  ['a kind of field that there is none of', [0x1f]],
])('refuses %s', (_what, message) => {
  expect(() => decode(message)).toThrow(StoreUnavailable);
});

test('an answer without anything is an empty page', () => {
  expect(decode([])).toEqual({ entries: [], more: false, revision: 0 });
});
