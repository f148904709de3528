import { rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEPT_MS } from '../../../src/service/files/watched-file.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { firstLook, lookAtFiles } from '../../support/files/looks.ts';
import type { Store } from '../../../src/store/port.ts';
import { putAll } from '../../support/records/backups.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import { call, Muster, OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* CONTRACT.md#files, at the door of the operator API and the probes. */

const [ALICE, BOB] = ['a'.repeat(40), 'b'.repeat(40)];
let dir: string;
beforeAll(() => {
  dir = scratchDirectory('tokens');
});
afterAll(() => rmSync(dir, { recursive: true }));

const PADDING = 'x'.repeat(10_000);

let files = 0;
/** A Muster that knows the tokens of a file, and of no variable. */
async function started(text: string, own: Readonly<Record<string, string>> = { MUSTER_OPERATOR_TOKEN: '' }) {
  const path = join(dir, `${(files += 1)}`);
  const says = (content: string): void => writeFileSync(path, content, { mode: 0o600 });
  says(text);
  const clock = new FakeClock();
  let opened: Store | undefined;
  const wrapStore = (real: Store): Store => (opened = real);
  const muster = await Muster.start({ clock, wrapStore, env: { MUSTER_OPERATOR_TOKEN_FILE: path, ...own } });
  await firstLook(muster);
  const lines = (words: string): number => muster.logged.filter((line) => line.includes(words)).length;
  return {
    muster,
    path,
    says,
    store: async (records: Readonly<Record<string, object>>) => opened && (await putAll(opened, records)),
    status: async (token: string) => (await call(`${muster.ops}/operator/v1/accounts`, { token })).status,
    readyz: async () => (await call(`${muster.ops}/readyz`)).body,
    unusable: async () =>
      /^muster_file_unusable\{file="MUSTER_OPERATOR_TOKEN_FILE"\} (\d)$/m.exec(
        (await call(`${muster.ops}/metrics`)).text,
      )?.[1],
    /** Looks at the files once, and waits for the line of the log with these words. */
    async lookedAt(words: string, ms?: number): Promise<void> {
      const before = lines(words);
      await lookAtFiles(muster, clock, ms);
      await until(() => lines(words) > before);
    },
    [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose](),
  };
}

const CHANGED = 'a file of the configuration has changed';

describe('the operator’s tokens of a file', () => {
  test('one that was added is valid, and one that was removed refused, after the next look', async () => {
    await using it = await started(`${ALICE}\n`);
    expect([await it.status(ALICE), await it.status(BOB)]).toEqual([200, 401]);
    it.says(`${ALICE}\n${BOB}\n`);
    await it.lookedAt(CHANGED);
    expect([await it.status(ALICE), await it.status(BOB)]).toEqual([200, 200]);
    it.says(`${BOB}\n`);
    await it.lookedAt(CHANGED);
    expect([await it.status(ALICE), await it.status(BOB)]).toEqual([401, 200]);
    expect(it.muster.logged.join()).not.toMatch(/a{40}|b{40}/);
  });

  test('a token whose role was changed has the other role after the next look', async () => {
    await using it = await started(`ann:operator:${ALICE}\n`);
    expect(await it.status(ALICE)).toBe(200);
    it.says(`ann:billing:${ALICE}\n`);
    await it.lookedAt(CHANGED);
    expect(await it.status(ALICE)).toBe(403);
    it.says(`ann:owner:${ALICE}\n`);
    await it.lookedAt('a file of the configuration cannot be used');
    expect(await it.readyz()).toMatchObject({
      degraded: expect.stringMatching(/^MUSTER_OPERATOR_TOKEN_FILE: line 1 has an unknown role: /) as string,
    });
    expect(await it.status(ALICE)).toBe(403);
    it.says(`ann:${ALICE}\n`);
    await it.lookedAt('a file of the configuration can be used again');
    expect(await it.status(ALICE)).toBe(200);
    expect(it.muster.logged.join()).not.toMatch(/a{40}|owner/);
  });

  test('an empty file withdraws all of them, but not that of the variable', async () => {
    await using it = await started(`${ALICE}\n`, {});
    it.says('');
    await it.lookedAt(CHANGED);
    expect([await it.status(ALICE), await it.status(OPERATOR_TOKEN)]).toEqual([401, 200]);
    expect([await it.readyz(), await it.unusable()]).toEqual([{ status: 'ready' }, '0']);
    it.says(`${ALICE}\n`);
    await it.lookedAt(CHANGED);
    expect(await it.status(ALICE)).toBe(200);
  });

  test.each([
    ['was removed', '', 401],
    ['has another role', `ann:billing:${ALICE}\n`, 403],
  ])('one that %s while the body of a request was on its way does nothing', async (_what, left, status) => {
    await using it = await started(`ann:operator:${ALICE}\n${BOB}\n`);
    const body = JSON.stringify({ name: 'Eve', login: 'eve@example.com', operator: true });
    await using connection = await connectRaw(it.muster.service.ops.port);
    const headers = `Authorization: Bearer ${ALICE}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n`;
    await connection.send(`POST /operator/v1/users HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    expect((await connection.answer()).status).toBe(100);
    it.says(`${left}${BOB}\n`);
    await it.lookedAt(CHANGED);
    await connection.send(body);
    expect((await connection.answer()).status).toBe(status);
    const users = await call(`${it.muster.ops}/operator/v1/users`, { token: BOB });
    expect(users.body['users']).toEqual([]);
  });

  test.each([
    ['was removed', ''],
    ['has another role', `ann:auditor:${ALICE}\n`],
  ])('one that %s ends the backup that is being made by it, and no other one', async (_what, left) => {
    await using it = await started(`${ALICE}\n${BOB}\n`);
    await it.store(Object.fromEntries(Array.from({ length: 3000 }, (_none, n) => [`cred/${n}`, { PADDING }])));
    const backup = (token: string): Promise<Response> =>
      fetch(`${it.muster.ops}/operator/v1/backup`, { headers: { authorization: `Bearer ${token}` } });
    const whole = await (await backup(ALICE)).text();
    // More than the sockets between the two can hold waits for a client that does not read.
    const ended = await backup(ALICE);
    it.says(`${BOB}\n${left}`);
    await it.lookedAt(CHANGED);
    await expect(ended.text()).rejects.toThrow();
    let next = await backup(BOB);
    await until(async () => next.status !== 503 || (next = await backup(BOB)).status !== 503);
    it.says(`${BOB}\n${ALICE}\n`);
    await it.lookedAt(CHANGED);
    expect((await next.text()).length).toBeGreaterThanOrEqual(whole.length);
  });

  test('a file that is gone: valid for 10 minutes, while it is told, and then refused until it is back', async () => {
    await using it = await started(`${ALICE}\n`, {});
    unlinkSync(it.path);
    await it.lookedAt('a file of the configuration cannot be used');
    const degraded = 'MUSTER_OPERATOR_TOKEN_FILE: the file cannot be read (ENOENT)';
    expect(await it.readyz()).toEqual({ status: 'ready', degraded });
    expect([await it.unusable(), await it.status(ALICE)]).toEqual(['1', 200]);
    await it.lookedAt('a file of the configuration could not be used for 10 minutes', KEPT_MS);
    expect([await it.status(ALICE), await it.status(OPERATOR_TOKEN)]).toEqual([401, 200]);
    expect(await it.readyz()).toMatchObject({
      degraded: `${degraded}; its operator tokens are refused until it can be used`,
    });
    it.says(`${ALICE}\n`);
    await it.lookedAt('a file of the configuration can be used again');
    expect([await it.status(ALICE), await it.unusable(), await it.readyz()]).toEqual([200, '0', { status: 'ready' }]);
  });

  test('the generated one is looked at by the same rule, and told by its variable, and by its path in the log', async () => {
    const clock = new FakeClock();
    await using muster = await Muster.start({ clock, env: { MUSTER_OPERATOR_TOKEN: '' } });
    unlinkSync(join(muster.dataDir, 'operator-token'));
    await until(async () => {
      clock.advance(1000);
      const { degraded } = (await call(`${muster.ops}/readyz`)).body;
      return degraded === 'MUSTER_OPERATOR_TOKEN_FILE: the file cannot be read (ENOENT)';
    });
    expect(muster.logged.join()).toContain(join(muster.dataDir, 'operator-token'));
  });
});
