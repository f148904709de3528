import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MusterError, type AuditEntry, type AuditPage, type PageQuery } from '#client';
import { followed } from '../../../../src/cli/commands/audit/follow.ts';
import { listAudit } from '../../../../src/cli/commands/audit/list.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import { systemClock } from '../../../../src/time/clock.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { auditOf, revoke } from '../../../support/service/daemon.ts';
import { connectedTo, musterHere, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, Muster, tenant, type Tenant } from '../../../support/service/muster.ts';

let muster: Muster;
let env: Record<string, string>;
let owner: Tenant;
beforeAll(async () => {
  muster = await Muster.start();
  env = connectedTo(muster);
  owner = await tenant(muster);
  for (let n = 0; n < 3; n += 1) await createApp(muster, owner.apiKey);
});
afterAll(() => muster[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Ended> => musterHere(['audit', 'list', ...args], env);
const listed = async (...args: string[]): Promise<AuditEntry[]> =>
  JSON.parse((await run(...args, '-o', 'json')).stdout) as AuditEntry[];
/** How often the service tells that the audit of the account was taken. */
const exports = async (): Promise<number> =>
  (await listed('--action', 'audit.exported')).filter(({ detail }) => detail['accountId'] === owner.accountId).length;

describe('audit list', () => {
  test('of one action alone, from an instant on, and at most so many', async () => {
    const account = ['-a', owner.accountId];
    const all = await listed(...account);
    expect(all).toEqual(await auditOf(muster, owner.accountId));
    const created = await listed(...account, '--action', 'app.created');
    expect(created.map(({ action }) => action)).toEqual(Array.from({ length: 3 }, () => 'app.created'));
    expect(await listed(...account, '--since', '1h')).toEqual(all);
    expect(await listed(...account, '--since', '2999-01-01')).toEqual([]);
    expect(await run(...account, '--since', '2999-01-01')).toEqual({ code: 0, stdout: '', stderr: 'No entry fits.\n' });
    expect(await listed(...account, '--since', all.at(-1)?.at ?? '')).toContainEqual(all.at(-1));
    expect(await listed(...account, '--limit', '2')).toEqual(all.slice(0, 2));
    expect((await run(...account, '--limit', '2')).stdout.trimEnd().split('\n')).toHaveLength(2);
    expect((await run(...account, '-o', 'csv')).stdout).toMatch(
      /^"at","actor","actorName","action","appId","target","targetName","requestId","detail"\r\n/,
    );
  });

  test('of one actor or app alone, before an instant, of all actions that begin so, and the newest first', async () => {
    const account = ['-a', owner.accountId];
    const { appId } = await createApp(muster, owner.apiKey);
    const all = await listed(...account);
    const last = all.at(-1)?.at ?? '';
    expect(await listed(...account, '--newest')).toEqual(all.toReversed());
    expect(await listed(...account, '--newest', '--limit', '2')).toEqual(all.slice(-2).toReversed());
    expect(await listed(...account, '--app', appId)).toEqual(all.filter((entry) => entry.appId === appId));
    const byKey = await listed(...account, '--actor', `key:${owner.keyId}`);
    expect(byKey).toEqual(all.filter(({ actor }) => actor === `key:${owner.keyId}`));
    expect(byKey.length).toBeGreaterThan(0);
    expect(await listed(...account, '--action', 'app.')).toEqual(all.filter(({ action }) => action.startsWith('app.')));
    expect(await listed(...account, '--until', last)).toEqual(all.filter(({ at }) => at < last));
    expect(await listed(...account, '--until', '1h')).toEqual([]);
    expect(await run(...account, '--app', '..')).toMatchObject({ code: 1, stdout: '' });
    for (const ruledOut of [['--newest'], ['--until', '1h']]) {
      expect(await run(...account, '--follow', ...ruledOut)).toMatchObject({ code: 2, stdout: '' });
    }
  });

  test('without an account, that of the service; an account goes by its name, too', async () => {
    await listed('-a', owner.accountId);
    expect(await listed()).toContainEqual(
      expect.objectContaining({ action: 'audit.exported', detail: { accountId: owner.accountId } }),
    );
    expect((await listed('-a', 'operator')).length).toBeGreaterThan(0);
    expect(await run('-a', 'nobody')).toMatchObject({ code: 4, stdout: '' });
  });

  test('`operator` is the audit of the service, though an account has that name: it goes by its id', async () => {
    const made = await musterHere(['accounts', 'create', '-n', 'operator', '-o', 'id'], env);
    const accountId = made.stdout.trimEnd();
    const actions = async (account: string) => (await listed('-a', account)).map(({ action }) => action);
    expect(await actions('operator')).not.toContain('account.created');
    expect(await actions(accountId)).toEqual(['account.created']);
  });

  const shownOn = async (columns: number, account: string): Promise<string> => {
    const terminal = recordedTerminal({ stdout: { isTTY: true, columns } });
    await listAudit(invocation(env, {}, { terminal }), { account, follow: false });
    return terminal.out();
  };
  const secondOf = ({ at }: AuditEntry): string => at.replace(/\.\d+Z$/, 'Z');

  test('on a terminal of 80 columns ids are whole and the detail is there: a wide entry goes on below', async () => {
    const { appId } = await createApp(muster, owner.apiKey);
    await revoke(muster, owner.apiKey, appId);
    const [entry] = await listed('-a', owner.accountId, '--action', 'app.revoked');
    if (!entry) throw new Error('no entry tells of the revocation');
    const shown = await shownOn(80, owner.accountId);
    expect(shown).toContain(
      `${secondOf(entry)}  key:${owner.keyId}  app.revoked\n    ${appId}  from=pending  codesVoided=1  targetName=app\n`,
    );
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(shown).not.toContain('…');
  });

  test('what fits is one line: in columns on a wide terminal and in a pipe, without them on a narrow one', async () => {
    await listed('-a', owner.accountId);
    const [entry] = await listed('--action', 'audit.exported');
    if (!entry) throw new Error('no entry tells of the export');
    const detail = `accountId=${owner.accountId} targetName=tenant`;
    expect(await shownOn(100, 'operator')).toContain(`${secondOf(entry)}  operator  audit.exported  -  ${detail}\n`);
    const aligned = `${secondOf(entry)}  ${'operator'.padEnd(27)}  ${'audit.exported'.padEnd(18)}  ${'-'.padEnd(20)}  ${detail}\n`;
    expect(await shownOn(160, 'operator')).toContain(aligned);
    expect((await run()).stdout).toContain(aligned);
  });

  test('ids are whole on a terminal that is narrower than they are', async () => {
    const shown = await shownOn(12, owner.accountId);
    expect(shown).toMatch(/^ {4}[a-z0-9]{20}$/m);
    expect(shown).toContain(`key:${owner.keyId}`);
  });
});

describe('audit list --follow', () => {
  test('refuses --newest where an earlier version of the service gives the oldest first', async () => {
    const entry = { actor: 'operator', action: 'backup.taken', requestId: 'r', detail: {} };
    const oldestFirst = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'].map((at) => ({ ...entry, at }));
    await using server = createServer((_, response) => response.end(JSON.stringify({ entries: oldestFirst })));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const earlier = connectedTo({ ops: `http://127.0.0.1:${port}` });
    for (const limit of [[], ['--limit', '1']]) {
      const told = await musterHere(['audit', 'list', '--newest', ...limit], earlier);
      expect(told).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Leave it out') as string });
    }
    expect(await musterHere(['audit', 'list'], earlier)).toMatchObject({ code: 0 });
  });

  test('has what is asked for alone', async () => {
    let looks = 0;
    let appId = '';
    const clock = {
      ...systemClock,
      async sleep() {
        looks += 1;
        if (looks === 2) ({ appId } = await createApp(muster, owner.apiKey));
        if (looks === 3) await revoke(muster, owner.apiKey, appId);
      },
    };
    const terminal = recordedTerminal();
    const call = invocation(env, { output: 'jsonl', limit: 1 }, { terminal, clock });
    const actor = `key:${owner.keyId}`;
    await listAudit(call, {
      account: owner.accountId,
      action: 'app.revoked',
      actor,
      since: { seconds: 1 },
      follow: true,
    });
    const shown = terminal.out().trimEnd().split('\n');
    expect(shown.map((line) => (JSON.parse(line) as AuditEntry).action)).toEqual(['app.revoked']);
  });

  test('goes on with what comes, and the service tells of one export', async () => {
    const before = await listed('-a', owner.accountId);
    const told = await exports();
    let looks = 0;
    const clock = {
      ...systemClock,
      async sleep() {
        looks += 1;
        if (looks === 3) await createApp(muster, owner.apiKey);
      },
    };
    const terminal = recordedTerminal();
    const call = invocation(env, { output: 'jsonl', limit: before.length + 1 }, { terminal, clock });
    await listAudit(call, { account: owner.accountId, follow: true });
    const entries = terminal
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry);
    expect(entries.slice(0, -1)).toEqual(before);
    expect(entries.at(-1)?.action).toBe('app.created');
    expect([looks, (await exports()) - told]).toEqual([3, 1]);
  });

  test('rows of csv go on under titles that come once; json is one document, and is refused', async () => {
    const before = await listed('-a', owner.accountId);
    let looks = 0;
    const clock = {
      ...systemClock,
      async sleep() {
        looks += 1;
        if (looks === 3) await createApp(muster, owner.apiKey);
      },
    };
    const terminal = recordedTerminal();
    const call = invocation(env, { output: 'csv', limit: before.length + 1 }, { terminal, clock });
    await listAudit(call, { account: owner.accountId, follow: true });
    const rows = terminal.out().trimEnd().split('\r\n');
    expect(rows).toHaveLength(1 + before.length + 1);
    expect(rows.filter((row) => row.startsWith('"at"'))).toEqual([rows[0]]);
    expect(rows.at(-1)).toContain('"app.created"');
    const told = await exports();
    expect(await run('-a', owner.accountId, '--follow', '-o', 'json')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'muster: --follow has no end, so that it is no one document: choose -o jsonl.\n',
    });
    expect(await exports()).toBe(told);
  });

  const entry = (n: number): AuditEntry => ({
    at: new Date(n).toISOString(),
    actor: 'operator',
    action: 'a',
    requestId: String(n),
    detail: {},
  });

  /** Pages of an audit as the service makes them: `after` is the place of an entry. */
  const reading =
    (audit: readonly number[], asked: PageQuery[]) =>
    async ({ limit = 0, after }: PageQuery): Promise<AuditPage> => {
      asked.push({ limit, after });
      const left = audit.filter((n) => after === undefined || n > Number(after));
      const page = left.slice(0, limit);
      return { entries: page.map(entry), order: 'asc', ...(left.length > limit && { next: String(page.at(-1)) }) };
    };

  /** @param grow changes the audit at each look; the last one stops the command */
  async function seen(audit: number[], grow: readonly (() => void)[]): Promise<{ seen: number[]; asked: PageQuery[] }> {
    const [asked, found]: [PageQuery[], number[]] = [[], []];
    const controller = new AbortController();
    const left = [...grow];
    const clock = {
      ...systemClock,
      async sleep() {
        const next = left.shift();
        if (next) next();
        else controller.abort();
      },
    };
    for await (const { requestId } of followed(reading(audit, asked), {
      clock,
      signal: controller.signal,
      say: () => undefined,
    })) {
      found.push(Number(requestId));
    }
    return { seen: found, asked };
  }

  test('an entry that comes before others that were seen is shown as well, and none twice', async () => {
    const audit = [10, 20, 30];
    const insert = (n: number) => () => audit.splice(audit.filter((one) => one < n).length, 0, n);
    const result = await seen(audit, [insert(40), insert(25), () => undefined, insert(50)]);
    expect(result.seen).toEqual([10, 20, 30, 40, 25, 50]);
  });

  test('an outage that is longer than a call is waited out; a refusal is not', async () => {
    const page = reading([1, 2, 3], []);
    let reads = 0;
    const read = async (asked: PageQuery): Promise<AuditPage> => {
      reads += 1;
      if (reads === 2) throw new MusterError('The call did not succeed within 60000 ms.', { code: 'timeout' });
      if (reads === 4) throw new MusterError('The token is unknown.', { code: 'invalid_token', status: 401 });
      return await page(asked);
    };
    const clock = { ...systemClock, sleep: async () => undefined };
    const [found, said]: [string[], string[]] = [[], []];
    const say = (text: string): void => void said.push(text);
    const follow = async (): Promise<void> => {
      const entries = followed(read, { clock, signal: new AbortController().signal, say });
      for await (const { requestId } of entries) found.push(requestId);
    };
    await expect(follow()).rejects.toThrow('The token is unknown.');
    expect(found).toEqual(['1', '2', '3']);
    expect(said).toEqual(['The call did not succeed within 60000 ms. Trying again in 2 s.']);
  });

  test('of a long audit only the end is read again', async () => {
    const audit = Array.from({ length: 3500 }, (_, n) => n + 1);
    const { seen: found, asked } = await seen(audit, [() => audit.push(3501)]);
    expect(found).toEqual(audit);
    expect(asked.map(({ after }) => after)).toEqual([undefined, '1', '1001', '2001', '3001', '2001', '3001']);
  });

  test('an audit of one entry is asked for as a whole, ever more seldom, until there is a second one', async () => {
    const audit = [1];
    const { seen: found, asked } = await seen(audit, [() => undefined, () => audit.push(2), () => audit.push(3)]);
    expect(found).toEqual([1, 2, 3]);
    expect(asked.map(({ after }) => after)).toEqual([undefined, undefined, undefined, '1', '1']);
  });
});
