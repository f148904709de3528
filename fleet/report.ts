import type { Enrolled } from './enrolling.ts';
import type { Figures } from './figures.ts';
import type { Polls } from './polling.ts';

export interface Report {
  readonly enrolled: Enrolled;
  readonly polls: Polls;
  /** The figures before anything was enrolled, and before and after the polls. */
  readonly figures: readonly [empty: Figures, before: Figures, after: Figures];
}

/** The lines that a run ends with. */
export function reportLines({ enrolled, polls, figures }: Report): string[] {
  const [empty, before, after] = figures;
  const devices = enrolled.enrolled;
  const hours = (devices * polls.seconds) / 3600;
  const perDeviceHour = (count: number): string => (hours === 0 ? 'none' : (count / hours).toPrecision(2));
  const perDevice = (bytes: number): string => (devices === 0 ? '0 B' : `${Math.round(bytes / devices)} B`);
  const latency = (share: number): string => polls.latencies.at(share).toFixed(1);
  const lines = [
    [
      'devices',
      `${devices} enrolled in ${enrolled.accounts} accounts, ${rate(devices, enrolled.seconds)}/s; ${enrolled.failed} failed`,
    ],
    [
      'polls',
      `${polls.count} in ${polls.seconds.toFixed(0)} s: ${polls.perSecond.toFixed(0)}/s; p50 ${latency(0.5)} ms, p99 ${latency(0.99)} ms`,
    ],
    ['configs', `${polls.acknowledged} received and acknowledged`],
    ['answers', answers(polls, ([status]) => status === '200' || status === '304')],
    ['refusals', answers(polls, ([status]) => status !== '200' && status !== '304')],
    [
      'store',
      `${perDeviceHour(after.storeRequests - before.storeRequests)} requests per device-hour by the service, ` +
        `${perDeviceHour(after.heartbeatRecords - before.heartbeatRecords)} of them heartbeats`,
    ],
    ...etcdLine(before, after, perDeviceHour),
    [
      'memory',
      `${mebibytes(after.residentBytes)} resident, ${perDevice(after.residentBytes - empty.residentBytes)} a device; ` +
        `heap ${mebibytes(after.heapBytes)}, ${perDevice(after.heapBytes - empty.heapBytes)} a device`,
    ],
  ];
  return lines.map(([what = '', says = '']) => `${what.padEnd(10)}${says}`);
}

function etcdLine(before: Figures, after: Figures, perDeviceHour: (count: number) => string): string[][] {
  const spent = [...after.etcdRequests].map(
    ([method, count]) => [method, count - (before.etcdRequests.get(method) ?? 0)] as const,
  );
  if (spent.length === 0) return [];
  const all = spent.reduce((sum, [, count]) => sum + count, 0);
  const each = spent.filter(([, count]) => count > 0).map(([method, count]) => `${method} ${perDeviceHour(count)}`);
  const byMethod = each.length === 0 ? '' : `: ${each.join(', ')}`;
  return [['etcd', `${perDeviceHour(all)} requests per device-hour${byMethod}`]];
}

function answers({ answers }: Polls, which: (answer: [string, number]) => boolean): string {
  const told = [...answers].filter(which).map(([status, count]) => `${count} × ${status}`);
  return told.length === 0 ? 'none' : told.join(', ');
}

const rate = (count: number, seconds: number): string => (seconds === 0 ? '0' : (count / seconds).toFixed(0));
const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`;
