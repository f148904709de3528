import { OPERATOR_ROLES } from '../src/config/operator-tokens.ts';
import type { LesserRole, PanelAccess, RoleRights } from '../src/api/contract/operation.ts';
import { rightInWords } from '../src/api/serve/role-rights.ts';
import { METRICS, OPERATIONS } from '../src/api/operator/ops-server.ts';
import { OPERATIONS as PANEL_OPERATIONS } from '../src/api/panel/routes.ts';
import { RESTRICTED_ROLES } from '../src/domain/records/user-records.ts';
import { withSections } from './written-section.ts';

/*
 * The tables of docs/CONTRACT.md: each operation of the operator API, and each of the panel that needs a role, with the
 * roles that may call it.
 */

/** The text of docs/CONTRACT.md with the tables as they are to be. */
export const contractDocument = (): string =>
  withSections('CONTRACT.md', [
    { source: 'src/api/contract/operator', content: operatorTable() },
    { source: 'src/api/contract/panel', content: panelTable() },
  ]);

interface Judged {
  readonly method: string;
  readonly path: string;
  readonly roles?: RoleRights;
  readonly access?: PanelAccess;
}

function operatorTable(): string {
  const lesser = OPERATOR_ROLES.filter((role): role is LesserRole => role !== 'operator');
  return tableOf(['operator', ...lesser], [METRICS, ...OPERATIONS], ({ roles = {} }) => [
    'yes',
    ...lesser.map((role) => cellOf(roles, role)),
  ]);
}

/** Operations that need no role are left out. */
function panelTable(): string {
  const needsRole = ({ access }: Judged): boolean => access !== 'anyone' && access !== 'signed-in';
  return tableOf(
    ['operator', ...RESTRICTED_ROLES, 'owner', 'viewer'],
    (PANEL_OPERATIONS as readonly Judged[]).filter(needsRole),
    ({ roles = {}, access }) => [
      'yes',
      ...RESTRICTED_ROLES.map((role) => cellOf(roles, role)),
      access === 'operator' ? '–' : 'yes',
      access === 'viewer' ? 'yes' : '–',
    ],
  );
}

function tableOf(
  roles: readonly string[],
  operations: readonly Judged[],
  cells: (operation: Judged) => readonly string[],
): string {
  const head = ['Operation', ...roles];
  const rows = operations.map((operation) => {
    const { method, path } = operation;
    return [`\`${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``, ...cells(operation)];
  });
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function cellOf(rights: RoleRights, role: LesserRole): string {
  const right = rights[role];
  if (right === undefined) return '–';
  return right === true ? 'yes' : `\`${rightInWords(right)}\` alone`;
}
