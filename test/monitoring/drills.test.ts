import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';
import { DRILL_NAMES, DRILLS } from '../../drill/drills.ts';
import { commandsOf } from '../../drill/runbook.ts';
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
