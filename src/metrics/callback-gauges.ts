import { Gauge, Histogram, type Registry } from 'prom-client';
import { callbackGauge } from './instruments.ts';
import type { ListenerLabel } from './labels.ts';

/** Numbers that others keep, asked for when a scrape comes. */
export interface Gauges {
  readonly accounts: () => number;
  readonly apps: () => number;
  readonly heldPolls: () => number;
  /** By listener. */
  readonly inFlight: () => readonly (readonly [listener: ListenerLabel, requests: number])[];
  readonly rateFill: () => readonly number[];
  readonly accountsLimitedLately: () => number;
  readonly storeFullness: () => number;
  readonly cacheReady: () => boolean;
  readonly storeRevisionLag: () => number;
}

const FILL = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function registerGauges(registers: Registry[], read: Gauges): void {
  const gauge = (name: string, help: string, value: () => number): void => callbackGauge(registers, name, help, value);
  gauge('muster_accounts', 'Accounts.', read.accounts);
  gauge('muster_apps', 'Apps of all accounts.', read.apps);
  gauge('muster_held_polls', 'Polls held until the configuration changes.', read.heldPolls);
  gauge(
    'muster_rate_limited_accounts',
    'Accounts that were refused with 429 in the last minute.',
    read.accountsLimitedLately,
  );
  gauge('muster_store_fullness_ratio', 'How full the store is, 0 to 1; 0 where it cannot be told.', read.storeFullness);
  gauge('muster_watch_cache_ready', '1 when memory is filled and the store answers.', () =>
    read.cacheReady() ? 1 : 0,
  );
  gauge(
    'muster_watch_cache_lag_revisions',
    'Store revisions that memory was behind at the last read.',
    read.storeRevisionLag,
  );
  const inFlight = new Gauge({
    name: 'muster_http_requests_in_flight',
    help: 'Requests whose answer has not left yet, by listener; held polls among them.',
    labelNames: ['listener'],
    registers,
    collect() {
      for (const [listener, requests] of read.inFlight()) this.set({ listener }, requests);
    },
  });
  inFlight.reset();
  const fill = new Histogram({
    name: 'muster_rate_window_fill_ratio',
    help: 'How full the windows of the accounts seen in the last minute are, at the scrape.',
    buckets: FILL,
    registers,
    collect() {
      this.reset();
      for (const ratio of read.rateFill()) this.observe(ratio);
    },
  });
  fill.reset();
}
