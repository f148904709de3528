import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '#client';
import { updateUser } from '../../../../src/cli/commands/accounts/users.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import type { Store } from '../../../../src/store/port.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { ask, putUser, signedIn } from '../../../support/panel/panel-users.ts';
import { GOOD_PASSWORD, tokenOf, Visitor } from '../../../support/panel/visitor.ts';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { commandsOf } from '../../../support/repository/document-commands.ts';
import { call, Muster, tenant } from '../../../support/service/muster.ts';

let muster: Muster;
let store: Store;
let env: Record<string, string>;
beforeAll(async () => {
  muster = await Muster.start({ wrapStore: (opened) => (store = opened) });
  env = connectedTo(muster);
});
afterAll(() => muster[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => musterHere(['users', ...args], env);
const json = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout } = await run(...args, '-o', 'json');
  expect([code, args.join(' ')]).toEqual([0, args.join(' ')]);
  return JSON.parse(stdout) as T;
};
interface Link {
  readonly userId: string;
  readonly url: string;
}
const created = (login: string, ...more: string[]): Promise<Link> =>
  json<Link>('create', '--name', 'Ann', '--login', login, ...more, '--quiet');

describe('users', () => {
  test('are created with a link that stands on stdout alone, and lets them in', async () => {
    const { code, stdout, stderr } = await run('create', '-n', 'Op', '-l', 'op@example.com', '--operator');
    expect(code).toBe(0);
    const url = /http:\S+/.exec(stdout)?.[0] ?? '';
    expect(stderr).toMatch(/^The user \w{16} is created; send him the link/);
    expect(stderr).not.toContain('mst_link_');
    const visitor = new Visitor(muster);
    const accepted = await visitor.post('/links/accept', { token: tokenOf(url), password: GOOD_PASSWORD });
    expect(accepted.status).toBe(200);
    expect((await visitor.ask('/me')).body).toMatchObject({ name: 'Op', operator: true });
    const again = await run('create', '-n', 'Op', '-l', 'OP@example.com');
    expect([again.code, again.stdout]).toEqual([1, '']);
    expect(again.stderr).toContain('another user has this name to sign in with');
    expect(await run('create', '-n', 'x', '-l', 'x', '-o', 'id')).toMatchObject({ code: 2, stdout: '' });
    expect(await run('create', '-n', 'x')).toMatchObject({ code: 2, stdout: '' });
  });

  test('are listed, found by id and by login, and changed', async () => {
    const { userId } = await created('ann@example.com');
    expect(await json<User[]>('list')).toContainEqual(expect.objectContaining({ userId, login: 'ann@example.com' }));
    const renamed = await run('update', 'Ann@Example.com', '--name', 'Ann Example', '--operator', '-o', 'json');
    expect([renamed.code, renamed.stderr]).toEqual([0, `The user ${userId} is changed.\n`]);
    expect(JSON.parse(renamed.stdout)).toMatchObject({ name: 'Ann Example', operator: true, disabled: false });
    const asked = await run('update', userId, '--no-operator');
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/Take the rights of an operator .* --yes/)]);
    expect(await json<User>('update', userId, '--role', 'support', '--yes')).toMatchObject({ role: 'support' });
    expect(await json<User>('update', userId, '--no-operator', '--yes')).toMatchObject({ role: 'support' });
    expect((await run('update', userId, '--role', 'auditor')).code).not.toBe(0);
    expect((await run('update', userId, '--role', 'billing', '--yes')).code).toBe(2);
    expect(await json<User>('update', userId, '--operator')).toMatchObject({ role: 'operator' });
    expect(await json<User>('update', userId, '--no-operator', '--yes')).toMatchObject({ operator: false });
    expect(await run('update', userId)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Nothing is to be changed') as string,
    });
    expect(await run('update', 'nobody', '--name', 'x')).toMatchObject({ code: 4, stdout: '' });
    expect(await run('update', userId, '--disable', '--enable')).toMatchObject({ code: 2 });
  });

  test('who leave are found and deleted by the commands of the document', async () => {
    const { accountId } = await tenant(muster);
    const { token, userId } = await signedIn(store, {
      login: 'leaver@example.com',
      accounts: [{ accountId, role: 'owner' }],
    });
    await putUser(store, { accounts: [{ accountId, role: 'owner' }] });
    const made = await ask({ muster }, { token }, `/accounts/${accountId}/api-keys`, { method: 'POST', body: {} });
    const { keyId, apiKey } = made.body as { keyId: string; apiKey: string };
    expect((await call(`${muster.api}/v1/apps`, { token: apiKey })).status).toBe(200);
    const lines = commandsOf('docs/OPERATIONS.md', 'Offboard a person').trim().split('\n');
    const results: Ended[] = [];
    for (const line of lines) {
      const [, ...args] = line.replace('ann@example.com', 'leaver@example.com').split(' ');
      results.push(await musterHere(args, env));
    }
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const [list, keys] = results;
    expect(list?.stdout).toMatch(/ KEYS +KEYS USED +TOKENS +TOKENS USED +SESSIONS +SESSIONS USED/);
    expect(list?.stdout).toMatch(new RegExp(`${userId} .* 1 +\\S.* 1 +\\S`));
    expect(keys?.stdout).toContain(keyId);
    expect(await json<User[]>('list')).not.toContainEqual(expect.objectContaining({ userId }));
    expect((await call(`${muster.api}/v1/apps`, { token: apiKey })).status).toBe(401);
  });

  test('are found as logins are compared at a sign-in, and of two of an earlier version one by its exact form', async () => {
    const { userId } = await created('zoë@example.com');
    expect(await json<User>('update', 'ZOE\u0308@Example.com', '--name', 'Zoë')).toMatchObject({ userId });
    const former = await putUser(store, { record: { login: 'H\u0331@example.com' } });
    const other = await putUser(store, { record: { login: 'h\u0331@example.com' } });
    expect(await json<User>('update', 'h\u0331@example.com', '--name', 'B')).toMatchObject({ userId: other });
    expect(await json<User>('update', 'H\u0331@example.com', '--name', 'A')).toMatchObject({ userId: former });
    const unclear = await run('update', 'H\u0331@EXAMPLE.com', '--name', 'C');
    expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringMatching(new RegExp(`${former}|${other}`))]);
  });

  test('are disabled once a person agrees, or with --yes, and enabled', async () => {
    const { userId } = await created('bob@example.com');
    const refused = await run('update', userId, '--disable');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    const no = recordedTerminal({ answers: ['n'] });
    await expect(updateUser(invocation(env, {}, { terminal: no }), userId, { disable: true })).rejects.toThrow(
      'Nothing was done.',
    );
    expect(no.questions.join()).toContain(userId);
    expect(await json<User>('update', userId, '--disable', '--yes')).toMatchObject({ disabled: true });
    expect(await json<User>('update', userId, '--enable')).toMatchObject({ disabled: false });
  });

  test('show the API keys that they made, which end with them but for those that are named', async () => {
    const { userId } = await created('maker@example.com', '--operator');
    await created('other@example.com', '--operator');
    const { accountId } = await tenant(muster);
    const reset = await json<Link>('reset', userId);
    const visitor = new Visitor(muster);
    await visitor.post('/links/accept', { token: tokenOf(reset.url), password: GOOD_PASSWORD });
    const make = async (name: string): Promise<string> => {
      const { status, body } = await visitor.post(`/accounts/${accountId}/api-keys`, { name });
      expect([status, name]).toEqual([201, name]);
      return String(body['keyId']);
    };
    const [kept, ended] = [await make('kept'), await make('ended')];
    expect(await json<object[]>('keys', userId)).toMatchObject([{ keyId: kept }, { keyId: ended, accountId }]);
    const token = await visitor.post('/me/access-tokens', { name: 'report', accountId, role: 'owner' });
    const told = `${String(token.body['tokenId'])} "report" of the account ${accountId}: owner`;
    expect((await run('keys', userId)).stderr).toContain(told);
    const refused = await run('delete', userId);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`${ended} "ended" of the account`)]);
    expect(refused.stderr).toContain(told);
    expect(await run('delete', userId, '--yes', '--keep-key', 'n4c8r2w6y1z5')).toMatchObject({ code: 1 });
    const done = await run('delete', userId, '--yes', '--keep-key', kept);
    expect([done.code, done.stderr]).toEqual([0, expect.not.stringContaining(`${kept} "kept"`)]);
    const listed = await musterHere(['api-keys', 'list', '--account', accountId, '-o', 'json'], env);
    const names = new Set((JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name));
    expect([names.has('kept'), names.has('ended')]).toEqual([true, false]);
  });

  test('are deleted once a person agrees, or with --yes', async () => {
    const { userId } = await created('gone@example.com');
    const refused = await run('delete', 'gone@example.com');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await run('delete', 'gone@example.com', '--yes')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: `The user ${userId} is deleted.\n`,
    });
    expect(await run('delete', userId, '--yes')).toMatchObject({ code: 4 });
  });

  test('are reset by a link, and each one voids those before it', async () => {
    const first = await created('eve@example.com');
    const reset = () => json<Link>('reset', 'eve@example.com');
    const [older, newer] = [await reset(), await reset()];
    expect(newer.userId).toBe(first.userId);
    const accept = async ({ url }: Link): Promise<number> =>
      (await new Visitor(muster).post('/links/accept', { token: tokenOf(url), password: GOOD_PASSWORD })).status;
    expect([await accept(first), await accept(older), await accept(newer)]).toEqual([400, 400, 200]);
    expect(await run('reset', 'eve@example.com', '-o', 'id')).toMatchObject({ code: 2, stdout: '' });
  });
});
