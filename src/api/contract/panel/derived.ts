import type * as z from 'zod';
import type { Operation, PanelAccess } from '../operation.ts';

/**
 * An operation of another API at its place in the panel: `/operator/v1/…` is `/panel/v1/…`, and `/v1/…` belongs to the
 * account in the path. A command that does the same is not named: a browser is no terminal.
 * @param changes what else is different there
 */
export function atPanel<Shape extends z.core.$ZodShape>(
  operation: Operation<Shape>,
  access: Exclude<PanelAccess, 'anyone'>,
  changes: Partial<
    Pick<Operation<Shape>, 'id' | 'path' | 'summary' | 'description' | 'query' | 'headers' | 'answers' | 'freshProof'>
  > = {},
): Operation<Shape> {
  const { command: _command, requires, ...rest } = operation;
  const errors = requires ? [...(rest.errors ?? []), 'enterprise_required' as const] : rest.errors;
  return { ...rest, path: pathOf(operation.path), ...changes, access, ...(errors && { errors }) };
}

function pathOf(path: string): string {
  if (path.startsWith('/operator/v1/')) return path.replace('/operator/v1/', '/panel/v1/');
  return path.replace(/^\/v1\//, '/panel/v1/accounts/:accountId/');
}
