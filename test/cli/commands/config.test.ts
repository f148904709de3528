import { expect, test } from 'vitest';
import { VARIABLES } from '../../../src/config/environment.ts';
import { VERSION } from '../../../src/version.ts';
import { connectedTo, musterHere } from '../../support/service/muster-command.ts';
import { Muster } from '../../support/service/muster.ts';

/* `muster config` and `muster version`. */

test('check: a former name of the client is told with its new one', async () => {
  const { code, stderr } = await musterHere(['config', 'check'], { MUSTER_API_KEY: 'hunter2' });
  expect([code, stderr.split('\n')[0]]).toEqual([
    0,
    'MUSTER_API_KEY: there is no such variable (a command that asks a service reads MUSTER_CLIENT_API_KEY); it has no effect',
  ]);
});

test('check: a right configuration, and every fault of a wrong one, never with its value', async () => {
  expect(await musterHere(['config', 'check'], { MUSTER_LOG_LEVEL: 'warn', MUSTER_COLOUR: 'red' })).toEqual({
    code: 0,
    stdout: 'STORE              sqlite\nUNKNOWN VARIABLES  MUSTER_COLOUR\n',
    stderr:
      'MUSTER_COLOUR: there is no such variable; it has no effect\n' +
      'Every variable of Muster is valid; the store is sqlite.\n',
  });
  const json = await musterHere(['config', 'check', '--quiet', '-o', 'json'], { MUSTER_COLOUR: 'red' });
  expect([json.stderr, JSON.parse(json.stdout)]).toEqual([
    '',
    { store: 'sqlite', unknownVariables: ['MUSTER_COLOUR'] },
  ]);
  const wrong = await musterHere(['config', 'check'], { MUSTER_LOG_LEVEL: 'hunter2', MUSTER_CURRENCY: 'hunter2' });
  expect([wrong.code, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toMatch(/MUSTER_CURRENCY: must be[\s\S]*MUSTER_LOG_LEVEL: must be/);
  expect(wrong.stderr).not.toContain('hunter2');
  const etcd = await musterHere(['config', 'check'], { MUSTER_STORE: 'etcd:http://127.0.0.1:1' });
  expect([etcd.code, etcd.stderr]).toEqual([2, expect.stringContaining('MUSTER_KEY_FILE: with etcd it must be set')]);
});

interface Value {
  readonly name: string;
  readonly value: string | null;
  readonly from: string;
}

test('list: each variable once, with its value and where that is from; no secret, and nothing that is wrong', async () => {
  const token = 'an-operator-token-that-nobody-may-see-0123';
  const { code, stdout, stderr } = await musterHere(['config', 'list', '-o', 'json'], {
    MUSTER_OPERATOR_TOKEN: token,
    MUSTER_ETCD_PASSWORD: 'hunter2',
    MUSTER_CURRENCY: 'hunter2',
    MUSTER_LOG_LEVEL: 'warn',
  });
  expect([code, stderr]).toEqual([0, '']);
  const values = JSON.parse(stdout) as Value[];
  expect(values.map(({ name }) => name)).toEqual(VARIABLES);
  const of = (name: string) => values.find((value) => value.name === name);
  expect(of('MUSTER_OPERATOR_TOKEN')).toMatchObject({ value: 'set', from: 'environment' });
  expect(of('MUSTER_ETCD_PASSWORD')).toMatchObject({ value: 'set', from: 'environment' });
  expect(of('MUSTER_CURRENCY')).toMatchObject({ value: 'wrong: see `muster config check`', from: 'environment' });
  expect(of('MUSTER_LOG_LEVEL')).toMatchObject({ value: 'warn', from: 'environment' });
  expect(of('MUSTER_DATA_DIR')).toMatchObject({ value: './.muster', from: 'default' });
  expect(of('MUSTER_STORE_ID')).toMatchObject({ value: null, from: 'unset' });
  expect(stdout).not.toMatch(new RegExp(`${token}|hunter2`));
});

test('explain: what the document says of a variable; a slip is told its name', async () => {
  const told = await musterHere(['config', 'explain', 'MUSTER_LOG_LEVEL', '-o', 'json']);
  expect(JSON.parse(told.stdout)).toEqual({
    name: 'MUSTER_LOG_LEVEL',
    section: 'What the process does',
    default: 'info',
    unset: '',
    meaning: 'The least severe level that is logged. `npm start` sets `warn` where nothing is set.',
    rule: 'debug, info, warn, error or silent',
  });
  for (const [name, words] of [
    ['MUSTER_LOG_LEVLE', /is it MUSTER_LOG_LEVEL that you mean/],
    ['MUSTER_CLIENT_URL', /the command reads it/],
    ['COLOUR', /`muster config list` has them all/],
  ] as const) {
    const { code, stdout, stderr } = await musterHere(['config', 'explain', name]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
  }
});

test('version: of the command, and of the running service where it is asked for', async () => {
  expect((await musterHere(['version', '-o', 'json'])).stdout).toContain(`"command": "${VERSION}"`);
  await using muster = await Muster.start();
  const { stdout } = await musterHere(['version', '--running', '-o', 'json'], connectedTo(muster));
  const node = process.versions.node;
  expect(JSON.parse(stdout)).toEqual({ command: VERSION, node, service: { url: muster.ops, version: VERSION, node } });
  expect(await musterHere(['version', '--running'], { MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:1' })).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('cannot be reached') as string,
  });
});
