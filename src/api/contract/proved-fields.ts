import type { BodyField, Operation } from './operation.ts';

/** Tells whether a body has a field that needs a fresh proof. */
export const hasProvedField = ({ freshProof }: Pick<Operation, 'freshProof'>, body: object): boolean =>
  Array.isArray(freshProof) && freshProof.some((field: BodyField<string>) => decides(field, body));

function decides(rule: BodyField<string>, body: object): boolean {
  if (typeof rule === 'object') return valueOf(body, rule.field) === rule.is;
  return valueOf(body, rule) !== undefined;
}

const valueOf = (body: object, field: string): unknown => new Map<string, unknown>(Object.entries(body)).get(field);
