import { CALLERS, type Outcome } from '../src/api/openapi/callers/outcomes.ts';
import { APIS, DOCUMENT_NAMES, type ApiName } from '../src/api/openapi/apis.ts';
import type { Operation } from '../src/api/contract/operation.ts';
import { OPAMP_ROUTE } from '../src/api/opamp/opamp-endpoint.ts';
import { METRICS } from '../src/api/operator/ops-server.ts';
import { withSections } from './written-section.ts';

/* The table of docs/CONTRACT.md: each operation of each API, with what each kind of caller gets. */

/** The text of docs/CONTRACT.md with the table as it is to be. */
export const contractDocument = (): string =>
  withSections('CONTRACT.md', [
    { source: 'src/api/openapi/callers', content: DOCUMENT_NAMES.map(sectionOf).join('\n\n') },
  ]);

type Told = Pick<Operation, 'method' | 'path'> & Parameters<(typeof CALLERS)['v1'][number]['outcome']>[0];

/** The paths that a listener serves by the same credentials beside the operations of its API. */
const BESIDE: Readonly<Partial<Record<ApiName, readonly Told[]>>> = {
  device: [{ method: 'post', path: OPAMP_ROUTE }],
  operator: [METRICS],
};

function sectionOf(api: ApiName): string {
  const callers = CALLERS[api];
  const head = ['Operation', ...callers.map(({ name }) => name)];
  const rows = [...(BESIDE[api] ?? []), ...APIS[api].operations].map((operation: Told) => [
    `\`${operation.method.toUpperCase()} ${operation.path.replaceAll(/:(\w+)/g, '{$1}')}\``,
    ...callers.map(({ outcome }) => cellOf(outcome(operation))),
  ]);
  const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  return `#### ${APIS[api].title}\n\n${table}`;
}

const NOTES = { 'own-pending': 'yes ²', unproved: 'yes ³' } as const;

function cellOf(outcome: Outcome): string {
  if (typeof outcome === 'object') return `\`${outcome.only}\` ¹`;
  if (outcome === 'own-pending' || outcome === 'unproved') return NOTES[outcome];
  return String(outcome);
}
