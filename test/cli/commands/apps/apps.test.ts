import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteApps, revokeApps } from '../../../../src/cli/commands/apps/change.ts';
import { fits, listApps, type Selection } from '../../../../src/cli/commands/apps/list.ts';
import { watchApps } from '../../../../src/cli/commands/apps/watch.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import type { GlobalOptions } from '../../../../src/cli/terminal/globals.ts';
import { systemClock } from '../../../../src/time/clock.ts';
import { recordedTerminal, type RecordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { runs } from '../../../support/run/effort.ts';
import { musterHere, musterProcess, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Tenant,
} from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

let muster: Muster;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(() => muster[Symbol.asyncDispose]());

let owner: Tenant;
let env: Record<string, string>;
beforeEach(async () => {
  owner = await tenant(muster);
  env = ownedBy(muster, owner.apiKey);
});

const run = (...args: string[]): Promise<Ended> => musterHere(['apps', ...args], env);
const create = async (name: string): Promise<string> => (await createApp(muster, owner.apiKey, name)).appId;
/** An app whose daemon has enrolled, and polled. */
async function active(name: string): Promise<string> {
  const app = await createApp(muster, owner.apiKey, name);
  await poll(muster, await enroll(muster, app));
  return app.appId;
}
const idsOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const listed = async (...args: string[]): Promise<string[]> => idsOf((await run('list', '-o', 'id', ...args)).stdout);
async function revokeKey(): Promise<void> {
  const path = `/operator/v1/accounts/${owner.accountId}/api-keys/${owner.keyId}`;
  await call(`${muster.ops}${path}`, { method: 'DELETE', token: OPERATOR_TOKEN });
}
const NONE = '0'.repeat(20);

describe('list and get', () => {
  test('every app, by status and by name', async () => {
    const [one, two, three] = [await create('edge 1'), await active('edge 2'), await create('shop')];
    await run('revoke', three);
    expect(await listed()).toEqual([one, two, three]);
    expect(await listed('--status', 'pending')).toEqual([one]);
    expect(await listed('--status', 'active')).toEqual([two]);
    expect(await listed('--status', 'revoked')).toEqual([three]);
    expect(await listed('--name', 'edge*')).toEqual([one, two]);
    expect(await listed('--name', 'edge ?', '--status', 'active')).toEqual([two]);
    expect(await listed('--limit', '2')).toEqual([one, two]);
    const none = await run('list', '--name', 'Edge*');
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'There is no such app.\n' });
    const { stdout } = await run('list', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ appId: one, name: 'edge 1', status: 'pending' }, {}, {}]);
    const csv = await run('list', '-o', 'csv', '--limit', '1');
    expect(csv.stdout.split('\r\n')[0]).toBe(
      '"appId","name","status","lastSeenAt","platform","agentVersion","createdAt"',
    );
    expect((await run('list')).stdout).toMatch(/^APP +NAME +STATUS +LAST SEEN +PLATFORM +AGENT +CREATED\n/);
  });

  test('get shows one; an unknown one ends with 4, and a wrong key with 5', async () => {
    const appId = await create('edge');
    expect(JSON.parse((await run('get', appId, '-o', 'json')).stdout)).toMatchObject({ appId, name: 'edge' });
    expect((await run('get', appId)).stdout).toMatch(/^APP +[a-z0-9]{20}\nNAME +edge\nSTATUS +pending\n/);
    const none = await run('get', NONE);
    expect([none.code, none.stdout, none.stderr]).toEqual([4, '', expect.stringMatching(/\(request [\w-]+\)\n$/)]);
    const named = await run('get', appId, '--request-id', 'my-own.1', '--url', muster.ops);
    expect([named.code, named.stderr]).toEqual([4, expect.stringContaining('(request my-own.1)')]);
  });

  test('--stale: active, and not seen for so long; who was never seen counts by the creation', async () => {
    const [pending, seen] = [await create('pending'), await active('seen')];
    const later = async (ms: number, options: Selection): Promise<string[]> => {
      const terminal = recordedTerminal();
      const clock = { ...systemClock, now: () => systemClock.now() + ms };
      await listApps(invocation(env, { output: 'id' }, { terminal, clock }), options);
      return idsOf(terminal.out());
    };
    expect(await later(7_200_000, { stale: 3600 })).toEqual([seen]);
    expect(await later(1_800_000, { stale: 3600 })).toEqual([]);
    expect(await later(7_200_000, {})).toEqual([pending, seen]);
    expect(await listed('--stale', '1h')).toEqual([]);
    const never = await createApp(muster, owner.apiKey, 'never');
    await enroll(muster, never);
    expect(await later(7_200_000, { stale: 3600 })).toEqual([seen, never.appId]);
  });

  test.each([
    [['list', '--stale', '1w'], /It is a duration with its unit, such as 90s, 5m, 12h or 7d, from 1s to 366d/],
    [['list', '--stale', '0s'], /It is a duration/],
    [['list', '--stale', '367d'], /It is a duration/],
    [['list', '--status', 'gone'], /Allowed choices are pending, active, revoked/],
    [['get'], /missing required argument 'id'/],
    [['revoke'], /missing required argument 'id'/],
  ])('muster apps %j is refused with 2', async (args, words) => {
    expect(await run(...args)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(words) as string });
  });
});

describe('a glob', () => {
  test.each([
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['?', 'a', true],
    ['?', '', false],
    ['?', '😀', true],
    ['a*c', 'abbc', true],
    ['a*c', 'abcd', false],
    ['*b*b', 'abab', true],
    ['a.c', 'abc', false],
    ['[a]', '[a]', true],
    ['\\*', '\\x', true],
  ])('%j and %j: %j', (glob, text, does) => {
    expect(fits(glob, text)).toBe(does);
  });

  test('is what the regular expression for it is', () => {
    const word = (letters: string) => fc.string({ unit: fc.constantFrom(...letters.split('')), maxLength: 8 });
    fc.assert(
      fc.property(word('ab*?'), word('ab'), (glob, text) => {
        const source = glob.replaceAll('*', '.*').replaceAll('?', '.');
        expect(fits(glob, text)).toBe(new RegExp(`^${source}$`, 'u').test(text));
      }),
      { numRuns: runs(500) },
    );
  });

  test('of many stars ends on a text that nearly fits', () => {
    expect(fits('*a'.repeat(100), 'b'.repeat(100))).toBe(false);
    expect(fits(`${'*a'.repeat(50)}b`, 'a'.repeat(100))).toBe(false);
  });
});

describe('revoke and delete', () => {
  test('one app is revoked without a question; many are asked for', async () => {
    const ids = [await active('a'), await create('b'), await create('c')];
    const one = await run('revoke', ids[0] ?? '');
    expect(one).toMatchObject({
      code: 0,
      stdout: `APP                   STATUS\n${ids[0] ?? ''}  revoked\n`,
      stderr: '',
    });
    const refused = await run('revoke', ids[1] ?? '', ids[2] ?? '');
    expect(refused).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'muster: Revoke 2 apps? Nobody is there to be asked: say so with --yes.\n',
    });
    expect(await listed('--status', 'revoked')).toEqual([ids[0]]);
    const done = await run('revoke', ids[1] ?? '', ids[2] ?? '', ids[1] ?? '', '--yes', '-o', 'id');
    expect(done).toMatchObject({ code: 0, stdout: `${ids[1] ?? ''}\n${ids[2] ?? ''}\n`, stderr: '2 apps revoked.\n' });
    expect(await listed('--status', 'revoked')).toEqual(ids);
  });

  test('a delete asks also for one, and a no leaves it', async () => {
    const ids = [await create('a'), await create('b')];
    expect((await run('delete', ids[0] ?? '')).code).toBe(2);
    const asked = async (answers: string[], ...appIds: string[]): Promise<[unknown, RecordedTerminal]> => {
      const terminal = recordedTerminal({ answers });
      const command = deleteApps(invocation(env, {}, { terminal }), appIds);
      return [await command.catch((error: unknown) => error), terminal];
    };
    const [no, terminal] = await asked(['n'], ids[0] ?? '');
    expect([no, terminal.questions]).toEqual([
      expect.objectContaining({ exitCode: 1, message: 'Nothing was done.' }),
      [`Delete the app ${ids[0] ?? ''}? [y/N] `],
    ]);
    expect(await listed()).toEqual(ids);
    const [yes, both] = await asked(['y'], ...ids);
    expect([yes, both.questions]).toEqual([undefined, ['Delete 2 apps? [y/N] ']]);
    expect(await listed()).toEqual([]);
  });

  test('an unknown app: 4 for one; among many a line of the table, and the others are done', async () => {
    const ids = [await create('a'), await create('b')];
    expect(await run('delete', NONE, '--yes')).toMatchObject({ code: 4, stdout: '' });
    expect(await run('revoke', NONE)).toMatchObject({ code: 4, stdout: '' });
    const some = await run('delete', ids[0] ?? '', NONE, ids[1] ?? '', '--yes', '-o', 'id');
    expect(some.code).toBe(1);
    expect(idsOf(some.stdout)).toEqual(ids);
    expect(some.stderr).toMatch(/^0{20} +.*\(request [\w-]+\)$/m);
    expect(some.stderr).toMatch(/muster: 2 of 3 apps deleted; 1 failed\.\n$/);
  });

  test.each([
    ['delete', ['..'], '"..", which is no id of an app', 'a folder'],
    ['revoke', ['edge 1', ''], '"edge 1" and 1 more, which are no ids of apps', 'a name, and an empty word'],
    ['delete', ['0'.repeat(19)], `"${'0'.repeat(19)}", which is no id of an app`, 'an id that was cut off'],
    ['delete', ['1,2,3,4', 'b', 'c', 'd'], '"1,2,3,4" and 3 more, which are no ids of apps', 'rows of a table'],
  ])('%s: where one of the words is no id, nothing is done: %j', async (verb, words, said) => {
    const ids = [await create('a'), await create('b')];
    const refused = await run(verb, ids[0] ?? '', ...words, ids[1] ?? '', '--yes');
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr: `muster: Nothing was done: among the ids is ${said}. An id has 20 small letters and digits.\n`,
    });
    expect(await listed('--status', 'pending')).toEqual(ids);
  });

  test('a delete whose answer is lost is done, and one of an unknown app is not', async () => {
    const ids = [await create('a'), await create('b')];
    await using proxy = await LossyProxy.before(muster.api);
    proxy.fate = ({ headers }) =>
      proxy.seen.some((one) => one.headers['x-request-id'] === headers['x-request-id']) ? 'through' : 'lost';
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    expect((await run('delete', ids[0] ?? '', '--yes')).code).toBe(0);
    expect((await run('revoke', ids[1] ?? '')).code).toBe(0);
    expect(proxy.count('lost')).toBe(2);
    proxy.fate = undefined;
    expect((await run('delete', ids[0] ?? '', '--yes')).code).toBe(4);
    expect(await listed('--status', 'revoked')).toEqual([ids[1]]);
  });

  test('where the key is refused, the rest is not tried', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, at) => create(`n${at}`)));
    await using proxy = await LossyProxy.before(muster.api);
    await revokeKey();
    env = { ...env, MUSTER_CLIENT_URL: proxy.url };
    const { code, stdout, stderr } = await run('revoke', '--yes', '-o', 'id', ...ids);
    expect([code, stdout]).toEqual([5, '']);
    expect(stderr).toMatch(/0 of 40 apps revoked; 40 failed, 20 of them not listed/);
    expect(stderr).toMatch(/not tried, after what failed before it/);
    expect(proxy.seen.length).toBeLessThan(40);
    expect((await run('revoke', ids[0] ?? '')).code).toBe(5);
  });

  test('40 at once, side by side', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, (_, at) => create(`n${at}`)));
    const terminal = recordedTerminal({ answers: ['40'] });
    await revokeApps(invocation(env, {}, { terminal }), ids);
    expect(terminal.questions).toEqual(['Revoke 40 apps? Type 40 to go on: ']);
    expect((await listed('--status', 'revoked')).toSorted()).toEqual(ids.toSorted());
  });
});

describe('watch', () => {
  const watching = (options: GlobalOptions): { terminal: RecordedTerminal; ended: Promise<void> } => {
    const terminal = recordedTerminal();
    return { terminal, ended: watchApps(invocation(env, options, { terminal }), { every: 2 }) };
  };

  test('tells what is there, then each change as it comes, and ends with --limit', async () => {
    const [one, two] = [await create('one'), await create('two')];
    const { terminal, ended } = watching({ output: 'jsonl', limit: 4 });
    const table = watching({ limit: 4 });
    await until(() => idsOf(terminal.out()).length === 2 && idsOf(table.terminal.out()).length === 2);
    await run('revoke', one);
    await run('delete', two, '--yes');
    await Promise.all([ended, table.ended]);
    const events = idsOf(terminal.out()).map((line) => JSON.parse(line) as object);
    // Apps that were created in one millisecond come in the order of their ids (H18).
    expect(new Set(events.slice(0, 2))).toEqual(
      new Set(
        [one, two].map(
          (appId) =>
            expect.objectContaining({ type: 'added', app: expect.objectContaining({ appId }) as object }) as object,
        ),
      ),
    );
    expect(events.slice(2)).toMatchObject([
      { type: 'removed', app: { appId: two } },
      { type: 'changed', app: { appId: one, status: 'revoked' }, before: { status: 'pending' } },
    ]);
    const lines = table.terminal.out().trimEnd().split('\n');
    const rows = lines.map((line) => line.split(/ {2,}/).slice(1));
    expect(rows.slice(0, 2).toSorted((a, b) => ((a[3] ?? '') < (b[3] ?? '') ? -1 : 1))).toEqual([
      ['added', one, 'pending', 'one'],
      ['added', two, 'pending', 'two'],
    ]);
    expect(rows.slice(2)).toEqual([
      ['removed', two, 'pending', 'two'],
      ['changed', one, 'pending → revoked', 'one'],
    ]);
  });

  test('-o json is one document, and so it needs the end that --limit sets', async () => {
    const appId = await create('one');
    const endless = await run('watch', '-o', 'json');
    expect(endless).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('choose -o jsonl') as string,
    });
    const ended = await run('watch', '-o', 'json', '--limit', '1');
    expect(JSON.parse(ended.stdout)).toMatchObject([{ type: 'added', app: { appId } }]);
  });

  test('goes on until SIGINT, and then ends with 0; a key that is refused ends it with 5', async () => {
    const appId = await create('one');
    const { child, ended } = musterProcess(['apps', 'watch', '-o', 'jsonl'], env);
    let out = '';
    child.stdout?.on('data', (piece: Buffer) => (out += piece.toString()));
    await until(() => out.includes(appId));
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(idsOf(stdout).map((line) => JSON.parse(line) as unknown)).toMatchObject([{ type: 'added', app: { appId } }]);
    await revokeKey();
    expect((await run('watch')).code).toBe(5);
  });
});
