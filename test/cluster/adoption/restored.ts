import type { Namespace } from '../support/operated.ts';

/** The kinds by the names that kubectl takes. */
const KINDS = {
  facct: 'FleetAccount',
  fkey: 'FleetApiKey',
  fapp: 'FleetApp',
  fotel: 'FleetOtelConfig',
} as const;
export type Short = keyof typeof KINDS;

interface Backup {
  readonly secrets: readonly string[];
  readonly resources: readonly (readonly [kind: Short, name: string, ...rest: unknown[]])[];
  /** The data of Secrets whose backup is older than they are. */
  readonly older?: Readonly<Record<string, object>>;
}

/** Restores the parts that Velero does: names, labels and specs, without owners, finalizers and UIDs. */
export async function restore(
  from: Namespace,
  to: Namespace,
  { secrets, resources, older = {} }: Backup,
): Promise<void> {
  for (const name of secrets) {
    const data = older[name] ?? (await from.get('secret', name))?.data;
    const labels = { 'app.kubernetes.io/managed-by': 'muster' };
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels }, data };
    await to.kubectl(['create', '--filename', '-'], JSON.stringify(body));
  }
  for (const [kind, name] of resources) {
    const told = await from.get(kind, name);
    await to.apply(KINDS[kind], name, told?.spec ?? {});
  }
}
