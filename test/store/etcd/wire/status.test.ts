import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { decodeStatus, sizesFromMetrics } from '../../../../src/store/etcd/wire/status.ts';
import { StoreUnavailable } from '../../../../src/store/port.ts';

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}
const number = (field: number, value: bigint): number[] => [...varint(BigInt(field << 3)), ...varint(value)];
const text = (field: number, value: string): number[] => [
  ...varint(BigInt((field << 3) | 2)),
  ...varint(BigInt(value.length)),
  ...Buffer.from(value),
];
const WHOLE = [
  ...text(1, 'header'),
  ...text(2, '3.6.16'),
  ...number(3, 8_000_000n),
  // The id of a member fills all 64 bits.
  ...number(4, 0xffff_ffff_ffff_fff0n),
  ...number(5, 7n),
  ...number(9, 6_000_000n),
  ...number(12, 64_000_000n),
];

describe('the status of an etcd', () => {
  test.each([
    ['of 3.6', WHOLE, { file: 8_000_000, inUse: 6_000_000, quota: 64_000_000, noSpace: false }],
    ['with an alarm', [...WHOLE, ...text(8, 'memberID:1 alarm:NOSPACE ')], { noSpace: true }],
    ['with an error that is no alarm', [...WHOLE, ...text(8, 'no leader')], { noSpace: false }],
  ])('%s', (_, bytes, status) => {
    expect(decodeStatus(Buffer.from(bytes))).toMatchObject(status);
  });

  test.each([
    ['of 3.5, which does not tell its quota', [...number(3, 8n), ...number(9, 6n)]],
    ['whose quota is off', [...number(3, 8n), ...number(9, 6n), ...number(12, -1n)]],
  ])('%s has none', (_, bytes) => {
    expect(decodeStatus(Buffer.from(bytes))).toEqual({ file: 8, inUse: 6, noSpace: false });
  });

  test.each([
    ['breaks off', [0x18, 0x80]],
    ['has a part that is longer than it', [0x42, 9, 0x4e]],
    ['has a kind of field that there is none of', [0x1f]],
  ])('one that %s is refused', (_, bytes) => {
    expect(() => decodeStatus(Buffer.from(bytes))).toThrow(StoreUnavailable);
  });
});

describe('the metrics of an etcd', () => {
  const told = async (body: string) => {
    await using server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return await sizesFromMetrics(`http://127.0.0.1:${port}`, undefined, 20_000);
  };

  test('tell its sizes and its quota', async () => {
    const body = [
      '# TYPE etcd_server_quota_backend_bytes gauge',
      'etcd_server_quota_backend_bytes 2.147483648e+09',
      'etcd_mvcc_db_total_size_in_bytes 8.192e+06',
      'etcd_mvcc_db_total_size_in_use_in_bytes 4096',
      '',
    ].join('\n');
    expect(await told(body)).toEqual({ quota: 2_147_483_648, file: 8_192_000, inUse: 4096 });
  });

  test('of something else tell nothing', async () => {
    expect(await told('<html></html>')).toEqual({});
    await expect(told('x'.repeat(5_000_000))).rejects.toThrow('not an answer of etcd');
  });
});
