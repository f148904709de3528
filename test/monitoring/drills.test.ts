import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { afterEach, expect, test, vi } from 'vitest';
import { DRILL_NAMES, DRILLS } from '../../drill/drills.ts';
import { commandsOf, run } from '../../drill/runbook.ts';
import { alerts } from '../support/monitoring/rules.ts';

const text = readFileSync(resolve(import.meta.dirname, '../../docs/DRILLS.md'), 'utf8');

test.each(DRILL_NAMES)('%s: its alert is a rule with commands, and docs/DRILLS.md has what it took', (name) => {
  const { alert, fault } = DRILLS[name];
  expect(alerts.map((rule) => rule.alert)).toContain(alert);
  expect(commandsOf(alert)).toHaveLength(3);
  const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` `)) ?? '';
  const [, ...cells] = row.split('|').map((cell) => cell.trim());
  expect(cells.slice(1, 3)).toEqual([fault, `[${alert}](RUNBOOK.md#${alert.toLowerCase()})`]);
  for (const seconds of cells.slice(3, 5)) expect(seconds).toMatch(/^\d+$/);
});

afterEach(() => void vi.unstubAllEnvs());

test('a command of the runbook has nothing of the installation for which the shell is set', async () => {
  for (const name of ['MUSTER_OPERATOR_TOKEN', 'MUSTER_CLIENT_URL', 'ETCD_NAME', 'ETCDCTL_ENDPOINTS', 'KUBECONFIG']) {
    vi.stubEnv(name, 'of-an-installation');
  }
  vi.stubEnv('XDG_CONFIG_HOME', '/of-an-installation');
  vi.stubEnv('SHELL_OF', 'the-caller');
  const own = { ops: 'http://ops', prometheus: 'http://prom', etcd: 'http://etcd', accountId: 'a', operatorToken: 't' };
  const lines = (await run('env', { ...own, logs: '/logs' })).split('\n');
  expect(lines.filter((line) => line.includes('of-an-installation'))).toEqual([]);
  expect(lines).toContain('SHELL_OF=the-caller');
  expect(lines).toContain('MUSTER_CLIENT_OPS_URL=http://ops');
});

test.each([
  ['without a name', [], 0],
  ['an unknown name', ['store-gone'], 2],
  ['an unknown flag', ['store-down', '--now'], 2],
])('%s: the program names the drills, and starts nothing', (_, args, code) => {
  const program = resolve(import.meta.dirname, '../../drill/main.ts');
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  expect(status).toBe(code);
  for (const name of DRILL_NAMES) expect(stdout).toContain(`${name} `);
});
