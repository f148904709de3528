import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../src/cli/terminal/exit-codes.ts';
import { lookAtFiles } from '../../support/files/looks.ts';
import { ROOT } from '../../support/repository/source-tree.ts';
import { killAtExit } from '../../support/run/guard.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { COMPILED } from '../../support/service/compiled.ts';
import { MAIN, musterHere, type Ended } from '../../support/service/muster-command.ts';
import { call, Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Operator tokens that may do less, in the hands of people: the command line, and the walk of docs/OPERATIONS.md. */

const [OPERATOR, AUDITOR, SUPPORT] = ['o'.repeat(40), 'a'.repeat(40), 's'.repeat(40)];
const LINES = `bea:auditor:${AUDITOR}\ncem:support:${SUPPORT}\nann:${OPERATOR}\n`;
const clock = new FakeClock(Date.UTC(2026, 1, 3));
let dir: string;
let muster: Muster;
let accountId: string;
beforeAll(async () => {
  dir = scratchDirectory('roles');
  mkdirSync(join(dir, 'secrets'), { mode: 0o700 });
  const file = join(dir, 'secrets/operator-token');
  writeFileSync(file, LINES, { mode: 0o600 });
  writeFileSync(join(dir, 'muster'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o700 });
  muster = await Muster.start({ clock, env: { MUSTER_OPERATOR_TOKEN: '', MUSTER_OPERATOR_TOKEN_FILE: file } });
  const body = { name: 'acme', entitlement: 'standard' };
  const made = await call(`${muster.ops}/operator/v1/accounts`, { method: 'POST', token: OPERATOR, body });
  accountId = String(made.body['accountId']);
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const as = (token: string, ...args: string[]): Promise<Ended> =>
  musterHere(args, { MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_OPERATOR_TOKEN: token });

test('an auditor reads and verifies, and is refused in words that say whose token it takes', async () => {
  for (const words of [
    'accounts list',
    `api-keys list -a ${accountId}`,
    'audit list -a operator',
    'audit verify',
    'limits',
  ]) {
    expect([words, (await as(AUDITOR, ...words.split(' '))).code]).toEqual([words, EXIT.ok]);
  }
  for (const words of [
    'accounts create --name x --entitlement standard',
    `review list -a ${accountId}`,
    'keys rotate --yes',
  ]) {
    const { code, stdout, stderr } = await as(AUDITOR, ...words.split(' '));
    expect([words, code, stdout]).toEqual([words, EXIT.notAuthorised, '']);
    expect(stderr).toMatch(
      /The role auditor of your operator token does not allow this\. Use a token with the role (?:support or )?operator\./,
    );
    expect(stderr).not.toContain(AUDITOR);
  }
  const backup = join(dir, 'all.backup');
  expect((await as(AUDITOR, 'backup', 'create', backup)).code).toBe(EXIT.notAuthorised);
  expect(() => readFileSync(backup)).toThrow('ENOENT');
});

test('support disables an account, and does not enable it', async () => {
  expect((await as(SUPPORT, 'accounts', 'disable', accountId, '--yes')).code).toBe(EXIT.ok);
  const refused = await as(SUPPORT, 'accounts', 'enable', accountId);
  expect(refused.code).toBe(EXIT.notAuthorised);
  expect(refused.stderr).toContain('allows nothing here but disabled: true. Use a token with the role operator.');
});

test('of the file of the service the command takes the first token of the role operator, or else the first', async () => {
  const codeWith = async (file: string): Promise<number | string | null> => {
    const env = { MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_OPERATOR_TOKEN_FILE: file };
    return (await musterHere(['review', 'list', '-a', accountId], env)).code;
  };
  expect(await codeWith(join(dir, 'secrets/operator-token'))).toBe(EXIT.ok);
  const [auditor, support] = [join(dir, 'auditor'), join(dir, 'support')];
  writeFileSync(auditor, `bea:auditor:${AUDITOR}\ncem:support:${SUPPORT}\n`, { mode: 0o600 });
  writeFileSync(support, `cem:support:${SUPPORT}\nbea:auditor:${AUDITOR}\n`, { mode: 0o600 });
  expect([await codeWith(auditor), await codeWith(support)]).toEqual([EXIT.notAuthorised, EXIT.ok]);
});

test('docs/OPERATIONS.md: billing without access to the fleet', async () => {
  const document = readFileSync(join(ROOT, 'docs/OPERATIONS.md'), 'utf8');
  const [, section = ''] = document.split('#### Billing without access to the fleet\n');
  const [make = '', use = ''] = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  expect(await shell(make)).toMatchObject({ code: 0, stderr: '' });
  await lookAtFiles(muster, clock);
  const { code, stdout, stderr } = await shell(use);
  expect([code, stdout]).toEqual([0, expect.stringContaining(accountId)]);
  expect(stdout).toContain(`exit code ${EXIT.notAuthorised}: not for billing`);
  expect(stderr).toContain(
    'The role billing of your operator token does not allow this. Use a token with the role support, auditor or operator.',
  );
  const audit = await call(`${muster.ops}/operator/v1/audit`, { token: AUDITOR });
  expect(audit.body['entries']).toContainEqual(
    expect.objectContaining({ action: 'usage.exported', actor: 'operator:accounting:billing' }),
  );
});

async function shell(script: string): Promise<Ended> {
  const env = { ...COMPILED, PATH: `${dir}:${process.env['PATH'] ?? ''}`, MUSTER_CLIENT_OPS_URL: muster.ops };
  const child = spawn('bash', ['-e', '-c', script], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  killAtExit(child);
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}
