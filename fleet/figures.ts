import type { Target } from './service.ts';

/** The figures that the service, and an etcd that was started with it, report. */
export interface Figures {
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly storeRequests: number;
  /** The reads of the store's state that requests share, whatever they ask for. */
  readonly sharedReads: number;
  readonly heartbeatRecords: number;
  /** The requests by method; empty where the etcd was not started here. */
  readonly etcdRequests: ReadonlyMap<string, number>;
}

export async function figuresOf({ urls, etcdUrls }: Pick<Target, 'urls' | 'etcdUrls'>): Promise<Figures> {
  const text = await (await fetch(`${urls.ops}/metrics`)).text();
  const members = await Promise.all(etcdUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return {
    residentBytes: sum(text, 'process_resident_memory_bytes'),
    heapBytes: sum(text, 'nodejs_heap_size_used_bytes'),
    storeRequests: sum(text, 'muster_store_operation_duration_seconds_count'),
    sharedReads: sum(text, 'muster_store_operation_duration_seconds_count', 'operation="head"'),
    heartbeatRecords: sum(text, 'muster_heartbeat_flushes_total'),
    etcdRequests: etcdRequests(members.join('\n')),
  };
}

/** How often etcd's write-ahead log was synced, by the upper bound of the time that it took, in seconds. */
export async function etcdSyncs(etcdUrl: string): Promise<ReadonlyMap<number, number>> {
  const text = await (await fetch(`${etcdUrl}/metrics`)).text();
  const buckets = text.matchAll(/^etcd_disk_wal_fsync_duration_seconds_bucket\{le="([^"]+)"\} (\d+)/gm);
  return new Map([...buckets].map(([, bound, count]) => [Number(bound === '+Inf' ? Infinity : bound), Number(count)]));
}

/** Sums all series of that name whose labels have the text, whatever the others are. */
function sum(metrics: string, name: string, label = ''): number {
  const values = metrics.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)`, 'gm'));
  return [...values].reduce((total, [, labels = '', value]) => total + (labels.includes(label) ? Number(value) : 0), 0);
}

function etcdRequests(metrics: string): ReadonlyMap<string, number> {
  const byMethod = new Map<string, number>();
  for (const [, method = '', count] of metrics.matchAll(
    /^grpc_server_handled_total\{[^}]*grpc_method="(\w+)"[^}]*\} (\S+)/gm,
  )) {
    if (Number(count) > 0) byMethod.set(method, (byMethod.get(method) ?? 0) + Number(count));
  }
  return byMethod;
}
