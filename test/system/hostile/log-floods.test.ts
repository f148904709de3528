import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, inject, test } from 'vitest';
import { TcpProxy } from '../../support/etcd/tcp-proxy.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Flood } from '../../support/service/flood.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { KEY_FILE_TEXT, tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

/* What clients can make the service write. The real figures are of this machine; the bounds hold on any. */

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly of?: string;
  readonly leftOut?: number;
}

const portOf = (url: string): number => Number(new URL(url).port);
const linesOf = ({ logged }: MusterProcess): Line[] => logged.map((line) => JSON.parse(line) as Line);
/** Lines that a cause may have in so many seconds, the one that was not over and those cut at both ends included. */
const most = (seconds: number): number => 11 * (Math.ceil(seconds) + 2);
/** The lines of the cause, and how many there would be without sampling. */
function told(lines: readonly Line[], msg: string): { readonly written: number; readonly happened: number } {
  const own = lines.filter((line) => line.msg === msg).length;
  const counts = lines.filter((line) => line.of === msg);
  const leftOut = counts.reduce((sum, line) => sum + (line.leftOut ?? 0), 0);
  return { written: own + counts.length, happened: own + leftOut };
}

test('2,000 refused enrollments are a few lines a second, and all counted', async () => {
  await using muster = await MusterProcess.start({ MUSTER_DATA_DIR: scratchDirectory('hostile') });
  const body = JSON.stringify({ appId: 'a'.repeat(20), enrollCode: 'mst_code_x' });
  const request = `POST /device/v1/enroll HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const startedAt = performance.now();
  let answers = 0;
  {
    await using flood = await Flood.start(portOf(muster.device), 32, () => request);
    await until(() => flood.answers >= 2_000);
    answers = flood.answers;
  }
  await until(() => told(linesOf(muster), 'not enrolled').happened >= answers);
  const seconds = (performance.now() - startedAt) / 1000;
  const { written } = told(linesOf(muster), 'not enrolled');
  process.stdout.write(`hostile: ${answers} refused enrollments in ${seconds.toFixed(1)} s: ${written} lines\n`);
  expect(written).toBeLessThanOrEqual(most(seconds));
});

const etcd = inject('etcd');
test.skipIf(etcd === undefined)('an outage of etcd under load is one error', async () => {
  await using proxy = await TcpProxy.before(portOf(etcd ?? ''));
  const directory = scratchDirectory('hostile');
  writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT);
  await using muster = await MusterProcess.start({
    MUSTER_DATA_DIR: directory,
    MUSTER_STORE: `etcd:${proxy.url}`,
    MUSTER_ETCD_PREFIX: `/${randomUUID()}/`,
    MUSTER_KEY_FILE: join(directory, 'keys'),
  });
  const { apiKey } = await tenant(muster);
  const errors = (): Line[] => linesOf(muster).filter(({ level }) => level === 'error');
  const startedAt = performance.now();
  let failed = 0;
  {
    const request = `GET /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`;
    await using flood = await Flood.start(portOf(muster.api), 200, () => request);
    await proxy.refuse();
    await until(() => errors().length > 0);
    const first = flood.answers;
    await until(() => flood.answers >= first + 300);
    await proxy.accept();
    await until(() => linesOf(muster).some(({ msg }) => msg === 'the store answers again'));
    failed = flood.answered.get(502) ?? 0;
  }
  await until(() => told(linesOf(muster), 'slow or failed').happened >= failed);
  const seconds = (performance.now() - startedAt) / 1000;
  const all = linesOf(muster);
  const { written } = told(all, 'slow or failed');
  process.stdout.write(
    `hostile: ${failed} failed requests in ${seconds.toFixed(1)} s of outage: ${written} lines, ${all.length} of all causes\n`,
  );
  expect(errors()).toMatchObject([{ msg: 'the store does not answer: requests are refused with 502 until it does' }]);
  // Those of 502 that name different reasons are counted apart.
  expect(written).toBeLessThanOrEqual(3 * most(seconds));
  expect(JSON.stringify(all)).not.toContain(apiKey);
});
