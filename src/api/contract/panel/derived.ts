import type * as z from 'zod';
import type { Answers, Method, Operation, PanelRight } from '../operation.ts';

/** `/operator/v1/…` is `/panel/v1/…`, and `/v1/…` belongs to the account in the path. */
type PanelPath<Path extends string> = Path extends `/operator/v1/${infer Rest}`
  ? `/panel/v1/${Rest}`
  : Path extends `/v1/${infer Rest}`
    ? `/panel/v1/accounts/:accountId/${Rest}`
    : Path;

/** An operation of `/v1` that names the panel, at its place there. */
export type AtPanel<One extends Operation> = One extends unknown
  ? [NonNullable<One['panel']>] extends [never]
    ? never
    : Omit<One, 'path'> & { readonly path: PanelPath<One['path']> }
  : never;

type Changes<Shape extends z.core.$ZodShape> = Partial<
  Pick<Operation<Shape>, 'id' | 'path' | 'summary' | 'description' | 'query' | 'headers' | 'answers' | 'freshProof'>
>;

/**
 * An operation of another API at its place in the panel. A command that does the same is not named: a browser is no
 * terminal.
 * @param changes what else is different there
 */
export function atPanel<
  Shape extends z.core.$ZodShape,
  A extends Answers,
  Path extends string,
  M extends Method,
  Query extends z.ZodObject,
  const C extends Changes<Shape> = {},
>(
  operation: Operation<Shape, A, Path, M, Query>,
  access: PanelRight,
  changes?: C,
): Operation<
  Shape,
  C extends { readonly answers: infer Changed extends Answers } ? Changed : A,
  C extends { readonly path: infer Changed extends string } ? Changed : PanelPath<Path>,
  M,
  C extends { readonly query: infer Changed extends z.ZodObject } ? Changed : Query
>;
export function atPanel<Shape extends z.core.$ZodShape>(
  operation: Operation<Shape>,
  access: PanelRight,
  changes: Changes<Shape> = {},
): Operation<Shape> {
  const { command: _command, panel: _panel, requires, idempotency, ...rest } = operation;
  const errors = requires ? [...(rest.errors ?? []), 'enterprise_required' as const] : rest.errors;
  return {
    ...rest,
    path: pathOf(operation.path),
    ...changes,
    access,
    ...(errors && { errors }),
    ...(idempotency && { idempotency: { path: operation.path, ...idempotency } }),
  };
}

function pathOf(path: string): string {
  if (path.startsWith('/operator/v1/')) return path.replace('/operator/v1/', '/panel/v1/');
  return path.replace(/^\/v1\//, '/panel/v1/accounts/:accountId/');
}
