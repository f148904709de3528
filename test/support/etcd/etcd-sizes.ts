import type { EtcdCluster } from './etcd.ts';

/* What an etcd tells of itself, over its JSON gateway. */

async function ask({ member }: EtcdCluster, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${member.url}/v3/maintenance/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

/** The bytes that are in use, and those of the file, which has freed pages as well. */
export async function sizesOf(etcd: EtcdCluster): Promise<{ readonly inUse: number; readonly file: number }> {
  const { dbSizeInUse, dbSize } = await ask(etcd, 'status', {});
  return { inUse: Number(dbSizeInUse), file: Number(dbSize) };
}

/** The alarms that are on: NOSPACE from the first put that was refused. */
export async function alarms(etcd: EtcdCluster): Promise<unknown> {
  return (await ask(etcd, 'alarm', { action: 'GET' }))['alarms'] ?? [];
}
