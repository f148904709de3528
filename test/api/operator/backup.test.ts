import { expect, test } from 'vitest';
import { putAll, readText } from '../../support/records/backups.ts';
import { metric } from '../../support/service/daemon.ts';
import { call, Muster, OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { until } from '../../support/time/until.ts';

const PATH = '/operator/v1/backup';
/** More than the sockets between the two can hold. */
const RECORDS = 3000;
const PADDING = 'x'.repeat(10_000);

interface Filled {
  readonly muster: Muster;
  /** How often the store was asked for a page of a revision. */
  readonly pages: () => number;
}

async function withMuch(): Promise<Filled> {
  let store: FaultyStore | undefined;
  const muster = await Muster.start({ wrapStore: (opened) => (store = faultyStore(opened)) });
  for (let at = 0; at < RECORDS; at += 100) {
    const records = Array.from({ length: 100 }, (_none, n): [string, object] => [`cred/${at + n}`, { PADDING }]);
    if (store) await putAll(store, Object.fromEntries(records));
  }
  return { muster, pages: () => store?.calls.listAt ?? 0 };
}

const headers = { authorization: `Bearer ${OPERATOR_TOKEN}` };

async function asked(muster: Muster, query = ''): Promise<{ status: number; type: string | null; text: string }> {
  const response = await fetch(`${muster.ops}${PATH}${query}`, { headers });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

onEachBackend('GET /operator/v1/backup', (backend) => {
  test('streams a whole backup to the operator, and tells nothing to anybody else', async () => {
    await using muster = await backend.fresh();
    const { status, type, text } = await asked(muster, '?count=true');
    expect([status, type]).toEqual([200, 'application/x-ndjson']);
    const { entries, counted } = await readText(text);
    expect(entries).toHaveLength(counted ?? -1);
    expect((await call(`${muster.ops}${PATH}`)).status).toBe(401);
    const head = await call(`${muster.ops}${PATH}`, { method: 'HEAD', token: OPERATOR_TOKEN });
    expect([head.status, head.text]).toEqual([200, '']);
    expect((await call(`${muster.ops}${PATH}`, { method: 'POST', token: OPERATOR_TOKEN })).status).toBe(404);
  });

  test('takes true and false for count, and nothing else', async () => {
    await using muster = await backend.fresh();
    expect((await asked(muster, '?count=false')).status).toBe(200);
    for (const count of ['', 'TRUE', '1']) {
      const { status, text } = await asked(muster, `?count=${count}`);
      expect([status, text]).toEqual([400, expect.stringContaining('"invalid_request"')]);
    }
  });
});

test('a backup waits for its client with little in memory, is one at a time, and is over when the client goes', async () => {
  const filled = await withMuch();
  await using muster = filled.muster;
  const leaving = new AbortController();
  const slow = await fetch(`${muster.ops}${PATH}`, { headers, signal: leaving.signal });
  expect(slow.status).toBe(200);
  const second = await asked(muster);
  expect([second.status, second.text]).toEqual([503, expect.stringContaining('A backup is being made already')]);
  // Others are served meanwhile, and what the client does not take is not read.
  for (let n = 0; n < 20; n += 1) {
    expect((await call(`${muster.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN })).status).toBe(200);
  }
  expect(filled.pages()).toBeLessThan(12);
  leaving.abort();
  let after = second;
  await until(async () => {
    after = await asked(muster);
    return after.status !== 503;
  });
  expect((await readText(after.text)).entries.length).toBeGreaterThanOrEqual(RECORDS);
  const series = `muster_http_request_duration_seconds_count{listener="ops",method="GET",route="${PATH}",status="200",code="broken_off"}`;
  expect(await metric(muster, series)).toBe(1);
});
