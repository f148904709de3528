import { OPERATOR_ROLES } from '../src/config/operator-tokens.ts';
import type { LesserRole, RoleRights } from '../src/api/contract/operation.ts';
import { rightInWords } from '../src/api/operator/authenticate.ts';
import { METRICS, OPERATIONS } from '../src/api/operator/ops-server.ts';
import { withSections } from './written-section.ts';

/* The table of docs/CONTRACT.md that has every operation of the operator API, and the roles that may call it. */

/** The text of docs/CONTRACT.md with the table as it is to be. */
export const contractDocument = (): string =>
  withSections('CONTRACT.md', [{ source: 'src/api/contract/operator', content: table() }]);

interface Judged {
  readonly method: string;
  readonly path: string;
  readonly roles?: RoleRights;
}

function table(): string {
  const lesser = OPERATOR_ROLES.filter((role): role is LesserRole => role !== 'operator');
  const head = ['Operation', 'operator', ...lesser];
  const rows = [METRICS, ...OPERATIONS].map(({ method, path, roles = {} }: Judged) => [
    `\`${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``,
    'yes',
    ...lesser.map((role) => cellOf(roles, role)),
  ]);
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellOf(rights: RoleRights, role: LesserRole): string {
  const right = rights[role];
  if (right === undefined) return '–';
  return right === true ? 'yes' : `\`${rightInWords(right)}\` alone`;
}
