import { FIELD_MANAGER } from './field-manager.ts';
import type { KubeObject } from './kube-api.ts';

/* The `managedFields` of an object: the API server's own record of the programs that wrote it. */

const NAMED_MAX = 3;
const NAME_CHARACTERS_MAX = 64;

interface Managed {
  readonly manager: string;
  readonly time: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function managedOf({ metadata }: KubeObject): readonly Managed[] {
  const found = metadata['managedFields'];
  if (!Array.isArray(found)) return [];
  return found.map((one: unknown) => {
    const { manager, time, fieldsV1 } = recordOf(one);
    return { manager: String(manager), time: String(time), fields: recordOf(fieldsV1) };
  });
}

/**
 * The programs beside Muster that wrote the object, the last one first: at most three, printable and shortened, since a
 * writer gives its name itself.
 */
export function otherManagers(object: KubeObject): readonly string[] {
  const others = managedOf(object)
    .filter(({ manager }) => manager !== FIELD_MANAGER)
    .toSorted((one, other) => (one.time < other.time ? 1 : -1))
    .map(({ manager }) => manager.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, NAME_CHARACTERS_MAX));
  return [...new Set(others)].slice(0, NAMED_MAX);
}

/** The keys of a map in the metadata whose values Muster wrote last. */
export function ownKeys(object: KubeObject, map: 'labels' | 'annotations'): readonly string[] {
  return managedOf(object)
    .filter(({ manager }) => manager === FIELD_MANAGER)
    .flatMap(({ fields }) => Object.keys(recordOf(recordOf(fields['f:metadata'])[`f:${map}`])))
    .filter((field) => field.startsWith('f:'))
    .map((field) => field.slice(2));
}
