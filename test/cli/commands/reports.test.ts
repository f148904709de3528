import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Usage } from '#client';
import { limits } from '../../../src/cli/commands/limits.ts';
import { invocation } from '../../../src/cli/terminal/invocation.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { recordedTerminal } from '../../support/cli/recorded-terminal.ts';
import { connectedTo, musterHere, type Ended } from '../../support/service/muster-command.ts';
import { call, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* `muster usage` and `muster limits`. */

let muster: Muster;
let env: Record<string, string>;
let limited: Tenant;
let named: string;
beforeAll(async () => {
  // All requests fall into one rate window, however long this machine takes for them.
  muster = await Muster.start({ clock: new FakeClock() });
  env = connectedTo(muster);
  limited = await tenant(muster);
  for (let n = 0; n < 610; n += 1) await call(`${muster.api}/v1/apps`, { token: limited.apiKey });
  const body = { name: 'by name', entitlement: 'standard' };
  const made = await call(`${muster.ops}/operator/v1/accounts`, { method: 'POST', token: OPERATOR_TOKEN, body });
  named = String(made.body['accountId']);
});
afterAll(() => muster[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => musterHere(args, env);

describe('usage', () => {
  test('of an account by its name, in every form', async () => {
    const json = JSON.parse((await run('usage', '-a', 'by name', '-o', 'json')).stdout) as Usage;
    expect(json).toMatchObject({ currency: 'EUR', accounts: [{ accountId: named, name: 'by name' }] });
    expect(json.total).toEqual({ daemonNights: 0, amountMinor: 0 });
    expect((await run('usage', '-a', 'by name', '-o', 'id')).stdout).toBe(`${named}\n`);
    expect(JSON.parse((await run('usage', '-a', named, '-o', 'jsonl')).stdout)).toEqual({
      month: json.month,
      currency: 'EUR',
      complete: json.complete,
      final: false,
      ...json.accounts[0],
    });
    expect((await run('usage', '-a', 'by name', '-o', 'csv')).stdout).toBe(
      '"month","accountId","name","day","activeDaemons","late","price","currency","amount","final"\r\n',
    );
    expect(await run('usage', '-a', 'nobody')).toMatchObject({ code: 4, stdout: '' });
  });
});

describe('limits', () => {
  test('a row for each key and operation that was refused, and one document in JSON', async () => {
    const table = await run('limits');
    expect(table.stdout).toMatch(/^ACCOUNT +FILL +REFUSED +LIMITED SINCE +LIFTS AT +KEY +OPERATION +OF IT\n/);
    expect(table.stdout).toMatch(new RegExp(`^${limited.accountId} +100 % +\\d+ .* GET /v1/apps +\\d+$`, 'm'));
    const json = JSON.parse((await run('limits', '-o', 'json')).stdout) as { limited: number; accounts: object[] };
    expect([json.limited, json.accounts.length]).toEqual([1, 1]);
    expect((await run('limits', '-o', 'id', '--top', '1')).stdout).toBe(`${limited.accountId}\n`);
  });

  test('--watch shows it again and again until it is stopped', async () => {
    let looks = 0;
    const clock = {
      ...systemClock,
      async sleep(ms: number) {
        expect(ms).toBe(7000);
        looks += 1;
        if (looks === 3) process.emit('SIGINT');
      },
    };
    const terminal = recordedTerminal({ stdout: { isTTY: true, columns: 200 } });
    await limits(invocation(env, {}, { terminal, clock }), { top: 20, watch: true, every: 7 });
    const shown = terminal.out().split('\u001b[H\u001b[J').slice(1);
    expect(shown).toHaveLength(3);
    for (const one of shown) expect(one).toContain(limited.accountId);
  });

  test('--watch: rows of csv go on under titles that come once; json is one document, and is refused', async () => {
    let looks = 0;
    const clock = {
      ...systemClock,
      async sleep() {
        looks += 1;
        if (looks === 3) process.emit('SIGINT');
      },
    };
    const terminal = recordedTerminal();
    await limits(invocation(env, { output: 'csv' }, { terminal, clock }), { top: 20, watch: true, every: 7 });
    const [titles, ...rows] = terminal.out().trimEnd().split('\r\n');
    expect(titles).toMatch(/^"accountId","fill",/);
    expect(rows).toHaveLength(3);
    for (const row of rows) expect(row).toContain(`"${limited.accountId}"`);
    expect(await run('limits', '--watch', '-o', 'json')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'muster: --watch has no end, so that it is no one document: choose -o jsonl.\n',
    });
  });
});
