import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectedTo, musterHere, ownedBy, type Ended } from '../../support/service/muster-command.ts';
import { createApp, Muster, tenant, type Tenant } from '../../support/service/muster.ts';

/*
 * What is not there is told by its kind and its name: a script with many commands says nothing else of which one
 * failed.
 */

let muster: Muster;
let owner: Tenant;
let home: string;
beforeAll(async () => {
  muster = await Muster.start();
  owner = await tenant(muster);
  home = mkdtempSync(join(tmpdir(), 'muster-missing-'));
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

const run = (...args: string[]): Promise<Ended> =>
  musterHere(args, { ...ownedBy(muster, owner.apiKey), ...connectedTo(muster), HOME: home });
const APP = '0'.repeat(20);
const KEY = 'n4c8r2w6y1z5';

test.each([
  [['apps', 'get', APP], `There is no app ${APP}`],
  [['apps', 'get', 'edge 1'], 'There is no app edge 1'],
  [['apps', 'code', APP], `There is no app ${APP}`],
  [['apps', 'revoke', APP], `There is no app ${APP}`],
  [['apps', 'delete', APP, '--yes'], `There is no app ${APP}`],
  [['api-keys', 'revoke', KEY, '--account', 'ACCOUNT', '--yes'], `There is no API key ${KEY} of the account ACCOUNT`],
  [['api-keys', 'list', '--account', 'nobody'], 'No account has the id or the name nobody'],
  [['review', 'show', 'x', '--account', 'ACCOUNT'], 'The review queue of ACCOUNT has no entry x'],
  [['review', 'confirm', 'x', '--account', 'ACCOUNT'], 'The review queue of ACCOUNT has no entry x'],
  [['review', 'dismiss', 'x', '--account', 'ACCOUNT'], 'The review queue of ACCOUNT has no entry x'],
  [['users', 'delete', 'nobody', '--yes'], 'There is no user with the id or the login nobody'],
])('muster %j', async (args, said) => {
  const named = (text: string): string => text.replace('ACCOUNT', owner.accountId);
  const { code, stdout, stderr } = await run(...args.map((word) => named(word)));
  expect([code, stdout, stderr.split(/[.;] ?/)[0]]).toEqual([4, '', `muster: ${named(said)}`]);
});

describe('--ignore-missing', () => {
  test.each([
    [['apps', 'delete', APP, '--yes'], `The app ${APP} is not there.\n`],
    [['users', 'delete', 'nobody', '--yes'], 'The user nobody is not there.\n'],
  ])('muster %j ends with 0', async (args, said) => {
    expect(await run(...args, '--ignore-missing')).toEqual({ code: 0, stdout: '', stderr: said });
    expect(await run(...args, '--ignore-missing', '--quiet')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('of many apps, the others are deleted and what is missing is told', async () => {
    const [{ appId: one }, { appId: two }] = [
      await createApp(muster, owner.apiKey),
      await createApp(muster, owner.apiKey),
    ];
    const ended = await run('apps', 'delete', one, APP, two, '--yes', '--ignore-missing', '-o', 'id');
    expect(ended).toEqual({
      code: 0,
      stdout: `${one}\n${two}\n`,
      stderr: `The app ${APP} is not there.\n2 apps deleted.\n`,
    });
  });

  test('hides no other refusal, and nothing that is no id', async () => {
    const none = `${owner.apiKey.slice(0, -1)}${owner.apiKey.endsWith('0') ? '1' : '0'}`;
    const args = ['apps', 'delete', APP, '--yes', '--ignore-missing'];
    expect(await musterHere(args, ownedBy(muster, none))).toMatchObject({ code: 2 });
    expect(await run('apps', 'delete', 'edge', '--yes', '--ignore-missing')).toMatchObject({ code: 2 });
  });
});
