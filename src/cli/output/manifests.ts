/*
 * Manifests of custom resources, and names for them. The package `yaml` leaves the controls from U+0080 on as they are,
 * also in a text that is quoted, and a terminal obeys them; it quotes either every text or few of these. What would
 * choose and escape each scalar in its place is as long as the two functions here.
 */

/** A custom resource as it is applied. */
export interface Manifest {
  readonly apiVersion: 'muster.dev/v1beta1';
  readonly kind: 'FleetAccount' | 'FleetApp';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Fields;
}
interface Fields {
  readonly [name: string]: string | boolean | Fields;
}

const NAME_MAX = 63;
const SUFFIX = 6;

/** The name of a namespace or a resource. */
export const RESOURCE_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
export const RESOURCE_NAME_RULE = 'It is a name in Kubernetes: small letters, digits and hyphens, at most 63.';

/** The manifest as a YAML document that begins with `---`. */
export const yamlOf = ({ apiVersion, kind, metadata, spec }: Manifest): string =>
  `---\n${yamlLines({ apiVersion, kind, metadata: { ...metadata }, spec }, '').join('\n')}\n`;

const yamlLines = (fields: Fields, indent: string): string[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    typeof value === 'object'
      ? [`${indent}${name}:`, ...yamlLines(value, `${indent}  `)]
      : [`${indent}${name}: ${typeof value === 'string' ? quoted(value) : String(value)}`],
  );

/** A plain word stays so. Of any other text the JSON is YAML as well; what a terminal would obey is escaped. */
function quoted(text: string): string {
  if (/^[A-Za-z][-A-Za-z0-9./]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)) return text;
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (signs) => signs.split('').map(escaped).join(''));
}

/** A name in Kubernetes that is like the text; `fallback` where nothing of the text can stand in one. */
export function resourceNameLike(text: string, fallback: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, NAME_MAX)
    .replaceAll(/^-+|-+$/g, '');
  return plain === '' ? fallback : plain;
}

/**
 * Names for resources that stand for these things, each once. Things of one name have a part of their ids in theirs, so
 * that none depends on the order.
 * @param taken names that others have
 */
export function uniqueNames(
  things: readonly { readonly id: string; readonly name: string }[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const bases = things.map(({ id, name }) => ({ id, base: resourceNameLike(name, 'app') }));
  const counts = new Map<string, number>();
  for (const { base } of bases) counts.set(base, (counts.get(base) ?? 0) + 1);
  const used = new Set(taken);
  const names = new Map<string, string>();
  const give = (id: string, choices: readonly string[]): void => {
    const name = choices.find((choice) => !used.has(choice)) ?? id;
    used.add(name);
    names.set(id, name);
  };
  // A name that only one thing has is not lost to another's longer one.
  for (const { id, base } of bases) if (counts.get(base) === 1) give(id, [base, ...longer(base, id)]);
  for (const { id, base } of bases) if (!names.has(id)) give(id, longer(base, id));
  return names;
}

const longer = (base: string, id: string): string[] =>
  [SUFFIX, id.length].map((length) => {
    const suffix = `-${id.slice(0, length)}`;
    return `${base.slice(0, NAME_MAX - suffix.length).replace(/-+$/, '')}${suffix}`;
  });
