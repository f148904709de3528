import type { EtcdCluster, EtcdMember } from '../../support/etcd/etcd.ts';

/* The acts of an operator on etcd, over its JSON gateway. */

const DEADLINE_MS = 10_000;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function ask(member: EtcdMember, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${member.url}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** The leader of etcd and its followers. @throws Error where no member leads */
export async function roles(cluster: EtcdCluster): Promise<{ leader: EtcdMember; followers: readonly EtcdMember[] }> {
  for (const member of cluster.members) {
    const status = await ask(member, 'maintenance/status', {}).catch(() => undefined);
    const { member_id: own } = (status?.['header'] ?? {}) as { member_id?: string };
    if (own !== undefined && status?.['leader'] === own) {
      return { leader: member, followers: cluster.members.filter((other) => other !== member) };
    }
  }
  throw new Error('no member of etcd leads');
}

export async function compactAll(member: EtcdMember): Promise<void> {
  const { header } = await ask(member, 'kv/range', { key: base64('none') });
  const { revision } = header as { revision: string };
  await ask(member, 'kv/compaction', { revision, physical: true });
}

export const putKey = async (member: EtcdMember, key: string, value: string): Promise<void> =>
  void (await ask(member, 'kv/put', { key: base64(key), value: base64(value) }));
export const removeKey = async (member: EtcdMember, key: string): Promise<void> =>
  void (await ask(member, 'kv/deleterange', { key: base64(key) }));

/** Raises the alarm by which etcd refuses every write since its members do not agree. */
export async function raiseCorrupt(member: EtcdMember): Promise<void> {
  const { header } = await ask(member, 'maintenance/status', {});
  const { member_id: memberID } = header as { member_id: string };
  await ask(member, 'maintenance/alarm', { action: 'ACTIVATE', memberID, alarm: 'CORRUPT' });
}

const FILLER = 'chaos-filler/';
const FILLER_BYTES = 1_000_000;

/** Puts values beside Muster's until etcd is full and raises its alarm. */
export async function fill(member: EtcdMember): Promise<void> {
  const value = Buffer.alloc(FILLER_BYTES, 1).toString('base64');
  for (let n = 0; ; n += 1) {
    const full = await ask(member, 'kv/put', { key: base64(`${FILLER}${n}`), value }).then(
      () => false,
      (error: unknown) => {
        if (String(error).includes('space exceeded')) return true;
        throw error;
      },
    );
    if (full) return;
  }
}

/** Makes room as the documentation of etcd says: delete, compact, defragment every member, disarm the alarm. */
export async function makeRoom(cluster: EtcdCluster): Promise<void> {
  await ask(cluster.member, 'kv/deleterange', { key: base64(FILLER), range_end: base64('chaos-filler0') });
  await compactAll(cluster.member);
  for (const member of cluster.members) await ask(member, 'maintenance/defragment', {});
  await disarm(cluster.member);
}

/** Ends every alarm, as `etcdctl alarm disarm` does. */
export async function disarm(member: EtcdMember): Promise<void> {
  const { alarms } = (await ask(member, 'maintenance/alarm', { action: 'GET' })) as {
    alarms?: readonly { memberID: string; alarm: string }[];
  };
  for (const { memberID, alarm } of alarms ?? []) {
    await ask(member, 'maintenance/alarm', { action: 'DEACTIVATE', memberID, alarm });
  }
}
