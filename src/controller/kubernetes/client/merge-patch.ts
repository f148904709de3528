import { isDeepStrictEqual } from 'node:util';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as JSON has it: fields that are undefined are not in it. */
const asSent = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/**
 * The merge patch (RFC 7386) that turns `before` into `after`; undefined where they are equal. A field that is
 * undefined counts as absent, and the order of fields, which the API server changes, does not count.
 */
export function mergePatch(before: Json, after: Json): Json | undefined {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, wanted] = [before[name], after[name]];
    if (wanted === undefined) {
      if (old !== undefined) patch[name] = null;
    } else if (isObject(old) && isObject(wanted)) {
      const inner = mergePatch(old, wanted);
      if (inner) patch[name] = inner;
    } else if (!isDeepStrictEqual(asSent(old), asSent(wanted))) patch[name] = wanted;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
