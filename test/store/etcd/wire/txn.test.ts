import fc from 'fast-check';
import { fileURLToPath } from 'node:url';
import { loadSync } from 'protobufjs';
import { expect, test } from 'vitest';
import { expectRevision } from '../../../../src/store/entry.ts';
import { KeySpace } from '../../../../src/store/etcd/wire/key-space.ts';
import {
  decodeTxn,
  encodeCondition,
  encodeGroup,
  encodeLeasedPut,
  resultsOf,
} from '../../../../src/store/etcd/wire/txn.ts';
import { HEAD_KEY, expectAbsent, StoreUnavailable, type Change, type Write } from '../../../../src/store/port.ts';
import { rawKey, rawPrefix } from '../../../support/store/raw-key.ts';

/*
 * Messages that are written and read field by field, against the package protobufjs and the definitions that the client
 * of etcd brings along.
 */
const definitions = loadSync(fileURLToPath(import.meta.resolve('etcd3/proto/rpc.proto')));
const [request, response] = ['TxnRequest', 'TxnResponse'].map((name) =>
  definitions.lookupType(`etcdserverpb.${name}`),
) as [ReturnType<typeof definitions.lookupType>, ReturnType<typeof definitions.lookupType>];
const read = (bytes: Buffer): unknown => request.toObject(request.decode(bytes), { longs: String, bytes: String });

const PREFIX = '/muster/';
const keys = new KeySpace(PREFIX);
const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

const key = fc.string({ minLength: 1, maxLength: 40 });
/** Up to more than what the writer has room for at first. */
const value = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ unit: 'grapheme', minLength: 3000, maxLength: 9000, size: 'max' }),
);
const revision = fc.oneof(fc.constant(0), fc.nat(300), fc.maxSafeNat());
const write = fc.oneof(
  fc.record({ put: key.map(rawKey), value }),
  fc.record({ remove: key.map(rawKey) }),
  fc.record({ removeAll: key.map(rawPrefix) }),
) satisfies fc.Arbitrary<Write>;
const expectation = fc.tuple(key, revision).map(([at, found]) => expectRevision(at, found));
const change = fc
  .tuple(expectation, fc.array(expectation, { maxLength: 4 }), fc.array(write, { maxLength: 5 }), fc.boolean())
  .map(([one, others, writes, quiet]): Change => ({
    expect: [one, ...others],
    write: writes,
    ...(quiet && { quiet: true }),
  }));

function operation(one: Write): object {
  if ('put' in one) return { requestPut: { key: base64(PREFIX + one.put), value: base64(one.value) } };
  if ('remove' in one) return { requestDeleteRange: { key: base64(PREFIX + one.remove) } };
  const { key: first, range_end: end } = keys.range(one.removeAll);
  return { requestDeleteRange: { key: base64(first), rangeEnd: base64(end) } };
}

/** What stands in a message: fields that are absent or empty are left out. */
const present = (fields: Readonly<Record<string, readonly unknown[]>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, values]) => values.length > 0));

const compares = ({ expect: expected }: Change): object[] =>
  expected.map((one) => ({ target: 2, key: base64(PREFIX + one.key), modRevision: String(one.revision) }));

test('writes any changes as protobufjs reads them', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), fc.option(value), (changes, mark) => {
      const condition = mark === null ? Buffer.alloc(0) : encodeCondition('format', mark);
      const head = changes.some(({ quiet }) => quiet !== true) ? [operation({ put: HEAD_KEY, value: 'epoch' })] : [];
      const nested = changes.map((one) => ({ compare: compares(one), success: one.write.map(operation) }));
      const [only] = nested;
      const fields =
        changes.length === 1 && only
          ? only
          : { compare: [], success: nested.map((one) => ({ requestTxn: present(one) })) };
      const marked =
        mark === null
          ? { compare: [], failure: [] }
          : {
              compare: [{ target: 3, key: base64('format'), value: base64(mark) }],
              failure: [{ requestRange: { key: base64('format') } }],
            };
      expect(read(Buffer.concat([encodeGroup(keys, changes, 'epoch'), condition]))).toEqual(
        present({
          compare: [...fields.compare, ...marked.compare],
          success: [...fields.success, ...head],
          failure: marked.failure,
        }),
      );
    }),
  );
});

test('an expectation of absence carries its operand, without which etcd would take it for one that holds', () => {
  const absent = encodeGroup(keys, [{ expect: [expectAbsent('k')], write: [], quiet: true }], '');
  expect(read(absent)).toEqual({ compare: [{ target: 2, key: base64('/muster/k'), modRevision: '0' }] });
});

test('a request that is written after another leaves the bytes of that one alone', () => {
  const of = (text: string): Buffer =>
    encodeGroup(keys, [{ expect: [expectRevision('k', 1)], write: [{ put: rawKey('k'), value: text }] }], 'e');
  const first = of('first');
  of('second');
  expect(first).toEqual(of('first'));
});

test('puts under any lease', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value, revision, (lease, held, at) => {
      expect(read(encodeLeasedPut(keys.bytes('k'), at, held, String(lease)))).toMatchObject({
        compare: [{ target: 2, key: base64('/muster/k'), modRevision: String(at) }],
        success: [{ requestPut: { key: base64('/muster/k'), value: base64(held), lease: String(lease) } }],
      });
    }),
  );
});

test('refuses a change that is none, and a revision that is no integer', () => {
  expect(() => encodeGroup(keys, [], 'epoch')).toThrow(RangeError);
  const broken: Change = { expect: [expectRevision('k', 1.5)], write: [] };
  expect(() => encodeGroup(keys, [broken], 'epoch')).toThrow(RangeError);
});

const header = { clusterId: '9223372036854775807', memberId: '1', raftTerm: '7' };
const answer = (fields: object): Buffer => Buffer.from(response.encode(response.fromObject(fields)).finish());

/** A store that answers is at revision 1 at least. */
const storeRevision = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

test('reads any answer that protobufjs writes', () => {
  const responses = fc.array(
    fc.oneof(
      fc
        .boolean()
        .map((succeeded) => ({ responseTxn: { succeeded, header, responses: [{ responsePut: { header } }] } })),
      fc.constant({ responsePut: { header } }),
      fc.constant({ responseDeleteRange: { deleted: '300' } }),
    ),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(fc.boolean(), storeRevision, responses, fc.option(value), (succeeded, at, others, found) => {
      const kvs = [
        { key: Buffer.from('/muster/format'), modRevision: '5', lease: '-1', value: Buffer.from(found ?? '') },
      ];
      const ranges = found === null ? [] : [{ responseRange: { kvs } }];
      const message = { header: { ...header, revision: String(at) }, succeeded, responses: [...others, ...ranges] };
      expect(decodeTxn(answer(message))).toEqual({
        succeeded,
        revision: at,
        nested: others.flatMap((one) => ('responseTxn' in one ? [one.responseTxn.succeeded] : [])),
        found: found ?? undefined,
      });
    }),
  );
});

test.each([
  ['a revision that a number cannot hold', answer({ header: { revision: '9007199254740992' } })],
  ['a part that is longer than the message', Buffer.of(0x1a, 0x05, 0x22)],
  ['a number that breaks off', Buffer.of(0x10, 0x80)],
])('refuses %s', (_what, message) => {
  expect(() => decodeTxn(message)).toThrow(StoreUnavailable);
});

const HEADER_7 = [0x0a, 2, 0x18, 7];
const SUCCEEDED = [0x10, 1];
/** A response with the answer of a nested transaction that succeeded. */
const NESTED = [0x1a, 4, 0x22, 2, 0x10, 1];

test.each([
  ['one change', [...HEADER_7, ...SUCCEEDED], 1, ['committed']],
  ['two changes', [...HEADER_7, ...SUCCEEDED, ...NESTED, ...NESTED], 2, ['committed', 'committed']],
  ['a group whose condition did not hold', HEADER_7, 2, []],
])('an answer has the verdicts of %s', (_, bytes, count, verdicts) => {
  expect(resultsOf(decodeTxn(Buffer.from(bytes)), count).map(({ outcome }) => outcome)).toEqual(verdicts);
});

test.each([
  ['no header', SUCCEEDED, 1],
  ['nothing at all', [], 1],
  ['one verdict for two changes', [...HEADER_7, ...SUCCEEDED, 0x1a, 0, ...NESTED], 2],
  ['a part that reaches out of the one around it', [...HEADER_7, 0x1a, 2, 0x22, 2, ...SUCCEEDED, ...NESTED], 2],
  ['verdicts in a group that failed', [...HEADER_7, ...NESTED, ...NESTED], 2],
  ['a skipped number that breaks off', [...HEADER_7, ...SUCCEEDED, 0x20, 0x80], 1],
  ['a skipped fixed number that breaks off', [...HEADER_7, ...SUCCEEDED, 0x21, 0x80], 1],
])('an answer that has %s has no verdicts', (_, bytes, count) => {
  expect(() => resultsOf(decodeTxn(Buffer.from(bytes)), count)).toThrow(StoreUnavailable);
});
