import type { AuditVerification } from '#client';
import { OPERATOR_AUDIT } from '../../../domain/records/audit-records.ts';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { printable } from '../../terminal/printable.ts';

const COLUMNS: readonly Column<AuditVerification>[] = [
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'ENTRIES', field: 'entries', kind: 'number' },
  { head: 'UNSEALED', field: 'unsealed', kind: 'number' },
  { head: 'BLOCKS', field: 'blocks', kind: 'number' },
  { head: 'HEAD', of: ({ head }) => head && `${head.number}:${head.digest}` },
  {
    head: 'RESULT',
    of: ({ faultCount }) => (faultCount === 0 ? 'ok' : `${faultCount} faults`),
    tone: ({ faultCount }) => (faultCount === 0 ? 'good' : 'bad'),
  },
];

/** The largest page that the service gives. */
const PAGE_MAX = 1000;

/**
 * `muster audit verify`: tells whether an entry was removed, added or changed since the leader sealed it.
 * @throws CommandFault, with exit code 3 where one was; ConfigError, MusterError
 */
export async function verifyAudit(call: Invocation, { account }: { readonly account?: string }): Promise<void> {
  requireWholeStdout();
  const operator = operatorOf(call);
  const request = requestOf(call);
  const verify = (id: string): Promise<AuditVerification> =>
    id === OPERATOR_AUDIT ? operator.verifyServiceAudit(request) : operator.verifyAudit(id, request);
  const bad: AuditVerification[] = [];
  let count = 0;

  async function* ids(): AsyncGenerator<string, void> {
    if (account !== undefined && account !== OPERATOR_AUDIT) {
      yield (await accountNamed(operator, account, request)).accountId;
      return;
    }
    if (account === undefined) {
      for await (const { accountId } of operator.accounts({ limit: PAGE_MAX }, request)) yield accountId;
    }
    yield OPERATOR_AUDIT;
  }
  async function* verified(): AsyncGenerator<AuditVerification, void> {
    for await (const id of ids()) {
      const found = await verify(id);
      count += 1;
      if (found.faultCount > 0) bad.push(found);
      yield found;
    }
  }
  await printList(call, { columns: COLUMNS, id: ({ accountId }) => accountId, items: verified() });
  if (call.globals.output === 'table') for (const found of bad) await call.terminal.stdout.write(faultsOf(found));
  if (bad.length > 0) throw new CommandFault(`${bad.length} of ${count} audits were tampered with.`, EXIT.bad);
}

const faultsOf = ({ accountId, faults }: AuditVerification): string =>
  faults
    .map(({ what, block, entry, says }) => {
      const place = [...(block === undefined ? [] : [`block ${block}`]), ...(entry === undefined ? [] : [entry])];
      return `${printable(`${accountId}  ${what}  ${place.join(', ')}: ${says}`)}\n`;
    })
    .join('');
