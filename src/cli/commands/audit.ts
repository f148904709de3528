import { once } from 'node:events';
import process from 'node:process';
import { OPERATOR_AUDIT } from '../../domain/records/audit-records.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../terminal/exit.ts';
import { printable } from '../terminal/printable.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient } from '../terminal/service-client.ts';
import { table } from '../terminal/table.ts';

interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly appId?: string;
  readonly requestId: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const PAGE = 1000;

const auditPath = (account: string): string =>
  account === OPERATOR_AUDIT ? '/operator/v1/audit' : `/operator/v1/accounts/${encodeURIComponent(account)}/audit`;

/**
 * `muster audit list`: the entries of an account's audit, oldest first, written page by page since there may be many.
 * @throws CommandFault, ConfigError
 */
export async function listAudit(
  env: NodeJS.ProcessEnv,
  { account, output }: { account: string; output: 'table' | 'json' },
): Promise<void> {
  const client = new ServiceClient(connectionOf(env));
  const path = `${auditPath(account)}?limit=${PAGE}`;
  for await (const { entries } of pages<{ entries: AuditEntry[] }>(client, path)) {
    const lines = entries.map((entry) => (output === 'json' ? JSON.stringify(entry) : lineOf(entry)));
    if (lines.length > 0 && !process.stdout.write(`${lines.join('\n')}\n`)) await once(process.stdout, 'drain');
  }
}

function lineOf({ at, actor, action, appId = '-', detail }: AuditEntry): string {
  const details = Object.entries(detail).map(([name, value]) => `${name}=${String(value)}`);
  const columns = [at, actor.padEnd(27), action.padEnd(20), appId.padEnd(20), details.join(' ')];
  return printable(columns.join('  ').trimEnd());
}

interface Verification {
  readonly accountId: string;
  readonly entries: number;
  readonly blocks: number;
  readonly unsealed: number;
  readonly head?: { readonly number: number; readonly digest: string };
  readonly faults: readonly {
    readonly what: string;
    readonly block?: number;
    readonly entry?: string;
    readonly says: string;
  }[];
  readonly faultCount: number;
}

/**
 * `muster audit verify`: tells whether an entry was removed, added or changed since the leader sealed it.
 * @throws CommandFault, with exit code 3 where one was; ConfigError
 */
export async function verifyAudit(
  env: NodeJS.ProcessEnv,
  { account, output }: { account?: string; output: 'table' | 'json' },
): Promise<void> {
  requireWholeStdout();
  const client = new ServiceClient(connectionOf(env));
  const ids = account === undefined ? [...(await accountIds(client)), OPERATOR_AUDIT] : [account];
  const found: Verification[] = [];
  for (const id of ids) {
    found.push(await client.json<Verification>(`${auditPath(id)}/verification`));
  }
  process.stdout.write(output === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : report(found));
  const bad = found.filter(({ faultCount }) => faultCount > 0).length;
  if (bad > 0) throw new CommandFault(`${bad} of ${found.length} audits were tampered with.`, EXIT.bad);
}

function report(found: readonly Verification[]): string {
  const rows = found.map(({ accountId, entries, unsealed, blocks, head, faultCount }) => [
    accountId,
    entries,
    unsealed,
    blocks,
    head === undefined ? '-' : `${head.number}:${head.digest}`,
    faultCount === 0 ? 'ok' : `${faultCount} faults`,
  ]);
  const faults = found.flatMap(({ accountId, faults }) =>
    faults.map(({ what, block, entry, says }) => {
      const place = [...(block === undefined ? [] : [`block ${block}`]), ...(entry === undefined ? [] : [entry])];
      return `${accountId}  ${what}  ${place.join(', ')}: ${says}`;
    }),
  );
  const columns = ['ACCOUNT', 'ENTRIES', 'UNSEALED', 'BLOCKS', 'HEAD', 'RESULT'];
  return table(columns, rows) + faults.map((fault) => `${printable(fault)}\n`).join('');
}

async function accountIds(client: ServiceClient): Promise<string[]> {
  const ids: string[] = [];
  const path = `/operator/v1/accounts?limit=${PAGE}`;
  for await (const page of pages<{ accounts: { accountId: string }[] }>(client, path)) {
    ids.push(...page.accounts.map(({ accountId }) => accountId));
  }
  return ids;
}

type Paged<Items> = Items & { readonly next?: string };

async function* pages<Items>(client: ServiceClient, path: string): AsyncGenerator<Paged<Items>, void> {
  let next: string | undefined = path;
  while (next !== undefined) {
    const page: Paged<Items> = await client.json<Paged<Items>>(next);
    yield page;
    next = page.next === undefined ? undefined : `${path}&after=${encodeURIComponent(page.next)}`;
  }
}
