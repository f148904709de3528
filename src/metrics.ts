import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/*
 * Metrics are a module of verbs: callers say what happened; names, labels and buckets are nobody else's business.
 * Labels come from closed sets (route templates, codes, results); account and app ids go to the log.
 */

export type DirectoryVerdict = 'equal' | 'different' | 'unknown';
export type EnrollmentResult =
  | 'enrolled'
  | 'replayed'
  | 'unknown_app'
  | 'unknown_code'
  | 'used_code'
  | 'voided_code'
  | 'expired_code'
  | 'malformed_code'
  | 'bound_credential'
  | 'account_disabled';
export type PollResult =
  | 'content'
  | 'not_modified'
  | 'held_content'
  | 'held_not_modified'
  | 'invalid_credential'
  | 'account_disabled'
  | 'rate_limited'
  | 'unavailable';

export interface DirectoryMetrics {
  directoryApplied(revision: number): void;
  directoryBehind(): void;
  directoryRelisted(): void;
  directoryWatchEnded(reason: string): void;
  directoryProved(verdict: DirectoryVerdict): void;
}

export interface Metrics extends DirectoryMetrics {
  readonly registry: Registry;
  requestEnded(listener: string, route: string, status: number, code: string, seconds: number): void;
  requestShed(listener: string, why: string): void;
  rateDecided(admitted: boolean): void;
  enrollmentEnded(result: EnrollmentResult): void;
  pollEnded(result: PollResult): void;
  storeCallEnded(operation: string, result: string, seconds: number): void;
  mutationCommitted(action: string): void;
  commitRepeated(why: 'conflict' | 'unknown'): void;
  heartbeatsFlushed(accounts: number, bytes: number, result: 'written' | 'conflict' | 'failed'): void;
  recordUnreadable(): void;
  purgesAwaitKeyRetirement(count: number): void;
  compacted(result: 'done' | 'failed'): void;
  loopEnded(loop: string, result: 'ok' | 'failed', seconds: number): void;
}

/** Numbers that others keep, asked for when a scrape comes. */
export interface Gauges {
  readonly accounts: () => number;
  readonly apps: () => number;
  readonly heldPolls: () => number;
  readonly rateFill: () => readonly number[];
  readonly accountsLimitedLately: () => number;
  readonly storeFullness: () => number;
  readonly directoryReady: () => boolean;
  readonly storeRevisionLag: () => number;
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const FILL = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1];

export function createMetrics(version: string): Metrics & { gauges(read: Gauges): void } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: 'muster_build_info',
    help: 'Always 1; the version is a label.',
    labelNames: ['version', 'node'],
    registers,
  })
    .labels(version, process.version)
    .set(1);

  return {
    registry,
    ...requestMetrics(registers),
    ...fleetMetrics(registers),
    ...storeMetrics(registers),
    gauges: (read) => registerGauges(registers, read),
  };
}

/** A labelled child is looked up once and kept: every lookup by labels spells and hashes them. */
function remembered<T>(make: (labels: readonly string[]) => T): (...labels: readonly string[]) => T {
  const known = new Branch<T>();
  return (...labels) => {
    let branch: Branch<T> = known;
    for (const label of labels) {
      let next = branch.get(label);
      if (!next) branch.set(label, (next = new Branch<T>()));
      branch = next;
    }
    return (branch.child ??= make(labels));
  };
}
class Branch<T> extends Map<string, Branch<T>> {
  child: T | undefined;
}

/** A counter for the path of every request: it counts in a plain map, and is told the difference when a scrape comes. */
function lazyCounter(name: string, help: string, label: string, registers: Registry[]): (value: string) => void {
  const since = new Map<string, number>();
  const counter = new Counter({
    name,
    help,
    labelNames: [label],
    registers,
    collect() {
      for (const [value, count] of since) this.inc({ [label]: value }, count);
      since.clear();
    },
  });
  counter.reset();
  return (value) => {
    since.set(value, (since.get(value) ?? 0) + 1);
  };
}

function requestMetrics(
  registers: Registry[],
): Pick<Metrics, 'requestEnded' | 'requestShed' | 'rateDecided' | 'loopEnded'> {
  const requests = new Histogram({
    name: 'muster_http_request_duration_seconds',
    help: 'Requests by listener, route template, status and error code (empty when none), with their duration.',
    labelNames: ['listener', 'route', 'status', 'code'],
    buckets: SECONDS,
    registers,
  });
  const child = remembered((labels) => requests.labels(...labels));
  const shed = new Counter({
    name: 'muster_http_turned_away_total',
    help: 'Requests and connections turned away: below routing, or above a bound of the listener.',
    labelNames: ['listener', 'why'],
    registers,
  });
  const decided = lazyCounter(
    'muster_rate_decisions_total',
    'Decisions of the account rate window: admitted or limited.',
    'decision',
    registers,
  );
  const loops = new Histogram({
    name: 'muster_loop_duration_seconds',
    help: 'Rounds of the background loops by result, with their duration.',
    labelNames: ['loop', 'result'],
    buckets: SECONDS,
    registers,
  });
  return {
    requestEnded: (listener, route, status, code, seconds) =>
      child(listener, route, String(status), code).observe(seconds),
    requestShed: (listener, why) => shed.inc({ listener, why }),
    rateDecided: (admitted) => decided(admitted ? 'admitted' : 'limited'),
    loopEnded: (loop, result, seconds) => loops.labels(loop, result).observe(seconds),
  };
}

function fleetMetrics(
  registers: Registry[],
): Pick<
  Metrics,
  'enrollmentEnded' | 'pollEnded' | 'mutationCommitted' | 'heartbeatsFlushed' | 'purgesAwaitKeyRetirement'
> {
  const enrollments = new Counter({
    name: 'muster_enrollments_total',
    help: 'Enrollment attempts by result; the daemon is told no more than invalid_code.',
    labelNames: ['result'],
    registers,
  });
  const pollEnded = lazyCounter('muster_polls_total', 'Configuration polls by result.', 'result', registers);
  const mutations = new Counter({
    name: 'muster_mutations_total',
    help: 'Changes committed, by action.',
    labelNames: ['action'],
    registers,
  });
  const flushes = new Counter({
    name: 'muster_heartbeat_flushes_total',
    help: 'Heartbeat records written, by result; one record holds the devices of one account.',
    labelNames: ['result'],
    registers,
  });
  const flushedBytes = new Counter({
    name: 'muster_heartbeat_flushed_bytes_total',
    help: 'Bytes of heartbeat records written.',
    registers,
  });
  const awaiting = new Gauge({
    name: 'muster_purges_awaiting_key_retirement',
    help: 'Purged secrets whose ciphertext may still lie in logs and backups, readable until their key is retired.',
    registers,
  });
  return {
    enrollmentEnded: (result) => enrollments.inc({ result }),
    pollEnded,
    mutationCommitted: (action) => mutations.inc({ action }),
    heartbeatsFlushed(accounts, bytes, result) {
      flushes.inc({ result }, accounts);
      flushedBytes.inc(bytes);
    },
    purgesAwaitKeyRetirement: (count) => awaiting.set(count),
  };
}

function storeMetrics(
  registers: Registry[],
): DirectoryMetrics & Pick<Metrics, 'storeCallEnded' | 'commitRepeated' | 'recordUnreadable' | 'compacted'> {
  const calls = new Histogram({
    name: 'muster_store_operation_duration_seconds',
    help: 'Operations of the store by result (ok, conflict, compacted or the trouble), with their duration.',
    labelNames: ['operation', 'result'],
    buckets: SECONDS,
    registers,
  });
  const child = remembered((labels) => calls.labels(...labels));
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const repeated = counter('muster_commits_repeated_total', 'Commits sent again after a conflict or a lost answer.', [
    'why',
  ]);
  const unreadable = counter(
    'muster_records_unreadable_total',
    'Records whose stored text has not the expected shape.',
    [],
  );
  const compactions = counter('muster_compactions_total', 'Compactions of the history by result.', ['result']);
  const behind = counter(
    'muster_directory_behind_total',
    'Reads that found memory behind the store and went there.',
    [],
  );
  const relisted = counter('muster_directory_relists_total', 'Times that memory was dropped and listed anew.', []);
  const ended = counter('muster_directory_watch_ends_total', 'Ends of the watch that feeds memory, by reason.', [
    'reason',
  ]);
  const proofs = counter('muster_directory_proofs_total', 'Comparisons of memory with the store, by verdict.', [
    'verdict',
  ]);
  const applied = new Gauge({
    name: 'muster_directory_applied_revision',
    help: 'The store revision that memory has reached.',
    registers,
  });
  return {
    storeCallEnded: (operation, result, seconds) => child(operation, result).observe(seconds),
    commitRepeated: (why) => repeated.inc({ why }),
    recordUnreadable: () => unreadable.inc(),
    compacted: (result) => compactions.inc({ result }),
    directoryBehind: () => behind.inc(),
    directoryRelisted: () => relisted.inc(),
    directoryWatchEnded: (reason) => ended.inc({ reason }),
    directoryProved: (verdict) => proofs.inc({ verdict }),
    directoryApplied: (revision) => applied.set(revision),
  };
}

function registerGauges(registers: Registry[], read: Gauges): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    const collected = new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
    collected.set(0);
  };
  gauge('muster_accounts', 'Accounts.', read.accounts);
  gauge('muster_apps', 'Apps of all accounts.', read.apps);
  gauge('muster_held_polls', 'Polls held until the configuration changes.', read.heldPolls);
  gauge(
    'muster_rate_limited_accounts',
    'Accounts that were refused with 429 in the last minute.',
    read.accountsLimitedLately,
  );
  gauge('muster_store_fullness_ratio', 'How full the store is, 0 to 1; 0 where it cannot be told.', read.storeFullness);
  gauge('muster_directory_ready', '1 when memory is filled and the store answers.', () =>
    read.directoryReady() ? 1 : 0,
  );
  gauge(
    'muster_directory_lag_revisions',
    'Store revisions that memory was behind at the last read.',
    read.storeRevisionLag,
  );
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
