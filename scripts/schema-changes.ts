import { isDeepStrictEqual } from 'node:util';

/* What a newer JSON Schema breaks: a request may take more than before, and an answer may give less. */

/** The part of JSON Schema 2020-12 that our documents use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}
export type Schemas = Readonly<Record<string, Schema>>;

/** Where the schemas are used, and the components that each of the two documents has. */
export interface Use {
  readonly direction: 'request' | 'answer';
  readonly before: Schemas;
  readonly after: Schemas;
}

/** The breaking changes from one schema to the next, each in words that begin with the place. */
export function schemaChanges(before: Schema, after: Schema, use: Use, place = ''): readonly string[] {
  const old = alternatives(before, use.before);
  const next = alternatives(after, use.after);
  const at = (change: string): string => (place === '' ? change : `${place}: ${change}`);
  const pairs = pairsOf(old, next);
  return [
    ...typeChanges(old, next, use).map(at),
    ...(pairs ?? []).flatMap(([one, other]) => [
      ...detailChanges(one, other, use).map(at),
      ...unknownChanges(one, other).map(at),
      ...partChanges(one, other, use, place),
    ]),
    ...(pairs ? [] : [at('its alternatives are others, of which this check tells no more')]),
  ];
}

/** Each alternative with its next version; undefined where it is not certain which belong together. */
function pairsOf(
  old: readonly Alternative[],
  next: readonly Alternative[],
): (readonly [Alternative, Alternative])[] | undefined {
  const [some, others] = [old.filter(hasContent), next.filter(hasContent)];
  const [one, other] = [some[0], others[0]];
  if (one && other && some.length === 1 && others.length === 1) return [[one, other]];
  const pairs = Map.groupBy([...some, ...others], ({ type }) => type);
  const result: (readonly [Alternative, Alternative])[] = [];
  for (const type of pairs.keys()) {
    const [before, after] = [some.filter((part) => part.type === type), others.filter((part) => part.type === type)];
    // A type that goes or comes is told of as such.
    if (before.length === 0 || after.length === 0) continue;
    if (before.length !== after.length) return undefined;
    result.push(...before.map((part, index) => [part, after[index] ?? part] as const));
  }
  return result;
}

/** The schemas of which a value fits one, each of one type; an unknown type is `any`. */
function alternatives(schema: Schema, components: Schemas): readonly Alternative[] {
  const { $ref, anyOf, ...beside } = schema;
  const parts = $ref === undefined ? anyOf : [components[$ref.split('/').at(-1) ?? ''] ?? {}, ...(anyOf ?? [])];
  if (parts) return parts.flatMap((part) => alternatives(part, components)).map((part) => joined(part, beside));
  const values = valuesOf(schema);
  const types = [schema.type ?? (values ? [...new Set(values.map(typeOf))] : 'any')].flat();
  return types.map((type) => ({ ...schema, type }));
}

/**
 * What stands beside alternatives holds for each of them. Where both have a keyword, they are kept apart, as schemas
 * that are joined: a change of it is told, and not judged.
 */
function joined(part: Alternative, beside: Schema): Alternative {
  const rules = Object.entries(beside).filter(([name]) => !ANNOTATIONS.has(name));
  const inBoth = rules.filter(([name]) => name in part);
  return {
    ...Object.fromEntries(rules),
    ...part,
    ...(inBoth.length > 0 && { allOf: [...(part.allOf ?? []), Object.fromEntries(inBoth)] }),
  };
}

type Alternative = Schema & { readonly type: string };
const hasContent = ({ type }: Alternative): boolean => type !== 'null';

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const valuesOf = ({ const: only, enum: several }: Schema): readonly unknown[] | undefined =>
  only === undefined ? several : [only];

function typeChanges(old: readonly Alternative[], next: readonly Alternative[], { direction }: Use): string[] {
  const missing = (of: readonly Alternative[], from: readonly Alternative[]): string[] => {
    const has = new Set(from.map(({ type }) => type));
    const fits = (type: string): boolean =>
      has.has(type) || has.has('any') || (type === 'integer' && has.has('number'));
    return [...new Set(of.map(({ type }) => type))].filter((type) => !fits(type));
  };
  return direction === 'request'
    ? missing(old, next).map((type) => `it no longer takes ${type === 'any' ? 'any value' : type}`)
    : missing(next, old).map((type) => `it may be ${type === 'any' ? 'any value' : type} from now on`);
}

const MOST = ['maximum', 'maxLength', 'maxItems'] as const;
const LEAST = ['minimum', 'minLength', 'minItems'] as const;
const FORMS = ['pattern', 'format'] as const;

/** The bounds of the first schema beyond which the second one goes. */
const wider = (old: Schema, next: Schema): readonly (keyof Schema)[] => [
  ...MOST.filter((rule) => (next[rule] ?? Infinity) > (old[rule] ?? Infinity)),
  ...LEAST.filter((rule) => (next[rule] ?? -Infinity) < (old[rule] ?? -Infinity)),
];

function detailChanges(old: Schema, next: Schema, { direction }: Use): string[] {
  const told = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');
  const [had, has] = [valuesOf(old), valuesOf(next)];
  if (direction === 'answer') {
    const more = had && has?.filter((value) => !had.includes(value));
    return [
      ...(had && !more ? [`it may be any value from now on, and was one of ${told(had)}`] : []),
      ...(more && more.length > 0 ? [`it may be ${told(more)} from now on`] : []),
      // A client may parse by it, or check it: an id in another form, a date in no form.
      ...FORMS.filter((rule) => old[rule] !== undefined && next[rule] !== old[rule]).map((rule) =>
        changed(rule, old, next),
      ),
      // A client may have room for so much alone, or refuse what it was told not to expect.
      ...wider(old, next).map((rule) => changed(rule, old, next)),
    ];
  }
  const fewer = had ? had.filter((value) => has?.includes(value) === false) : (has ?? []);
  const values = had ? `it takes no ${told(fewer)} any more` : `it takes ${told(fewer)} alone from now on`;
  return [
    ...(fewer.length > 0 ? [values] : []),
    // What is narrower now was wider before.
    ...wider(next, old).map((rule) => changed(rule, old, next)),
    ...FORMS.filter((rule) => next[rule] !== undefined && next[rule] !== old[rule]).map((rule) =>
      changed(rule, old, next),
    ),
    ...(JSON.stringify(old.default) === JSON.stringify(next.default) ? [] : [changed('default', old, next)]),
  ];
}

/** What says nothing about a value. */
const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', 'examples', 'deprecated', '$comment']);

/** What this check judges, or what says nothing about a value. */
const KNOWN: ReadonlySet<string> = new Set([
  'type',
  'const',
  'enum',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'default',
  ...MOST,
  ...LEAST,
  ...FORMS,
  ...ANNOTATIONS,
]);

/** A keyword that this check does not know may break as well: whoever changes it has to look. */
function unknownChanges(old: Schema, next: Schema): string[] {
  const names = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...names]
    .filter((name) => !KNOWN.has(name) && !name.startsWith('x-'))
    .map((name) => name as keyof Schema)
    .filter((name) => !isDeepStrictEqual(old[name], next[name]))
    .map((name) => `${changed(name, old, next)}, which this check cannot judge`);
}

const changed = (rule: keyof Schema, old: Schema, next: Schema): string =>
  `its ${rule} is ${JSON.stringify(next[rule]) ?? 'none'}, and was ${JSON.stringify(old[rule]) ?? 'none'}`;

function partChanges(old: Schema, next: Schema, use: Use, place: string): string[] {
  const fields = Object.entries(old.properties ?? {}).flatMap(([name, schema]) => {
    const field = next.properties?.[name];
    return field ? schemaChanges(schema, field, use, `${place}/${name}`) : [`${place}/${name}: it is removed`];
  });
  const [had, has] = [new Set(old.required), new Set(next.required)];
  const required =
    use.direction === 'request'
      ? [...has].filter((name) => !had.has(name)).map((name) => `${place}/${name}: it is required from now on`)
      : [...had]
          .filter((name) => !has.has(name) && next.properties?.[name])
          .map((name) => `${place}/${name}: it may be absent from now on`);
  const isClosed = next.additionalProperties === false && old.additionalProperties !== false;
  const closed =
    use.direction === 'request' && isClosed ? [`${place || 'the body'}: further fields are refused from now on`] : [];
  const items = memberChanges(old.items, next.items, use, place);
  const values = memberChanges(mapValue(old), mapValue(next), use, place);
  return [...fields, ...required, ...closed, ...items, ...values];
}

const mapValue = ({ additionalProperties: value }: Schema): Schema | undefined =>
  typeof value === 'object' ? value : undefined;

/** Those of the members of a list, or of the values of a map; without a schema, they may be anything. */
function memberChanges(old: Schema | undefined, next: Schema | undefined, use: Use, place: string): readonly string[] {
  return old || next ? schemaChanges(old ?? {}, next ?? {}, use, `${place}/*`) : [];
}
