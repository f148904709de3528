type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The merge patch (RFC 7386) that turns `before` into `after`; undefined where they are equal. A field that is
 * undefined counts as absent.
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
    } else if (JSON.stringify(old) !== JSON.stringify(wanted)) patch[name] = wanted;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}
