import type { Sections } from '../../metrics/instruments/sections.ts';
import { expectAsFound, expectUnchanged, type Expectation } from '../../store/port.ts';
import type { Caller } from '../apps/own-app.ts';
import { namesStored } from '../audit/names.ts';
import type { EgressOutcome, GuardedEgress } from '../egress/guarded-egress.ts';
import type { Unreached } from '../egress/faults.ts';
import type { Envelope } from '../keys/envelope.ts';
import { LIMITS } from '../limits.ts';
import { authorisedBy } from '../mutation/authority.ts';
import { beforeAnotherAttempt, commitSteps, committed, refuseLate } from '../mutation/commit.ts';
import { requestFields, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import { Busy, Refusal } from '../refusal.ts';
import { collectorHeaders } from './collector-header.ts';
import { openHeader } from './otel-config.ts';
import { TEST_OUTCOMES } from './test-outcomes.ts';
import { whileStored } from './while-stored.ts';

/** The outcome of a test. Nothing of it repeats the header or the address. */
interface TestResult {
  /** The revision whose endpoint and header were tried. */
  readonly revision: number;
  readonly outcome: (typeof TEST_OUTCOMES)[number];
  /** The status of the answer, where there was one. */
  readonly status?: number;
  /** The stage at which there was none. */
  readonly why?: Extract<Unreached, { kind: 'unreached' }>['why'];
  /** The words of TLS. */
  readonly says?: string;
}

/** A test that may be made, once. */
interface BegunTest {
  readonly revision: number;
  /**
   * Sends an empty export, unless another configuration is stored by the time of the connection (O10).
   * @throws Busy where too many calls to the outside are under way; StoreUnavailable
   */
  send(): Promise<TestResult>;
}

/** Tries whether the collector takes what daemons will send: from this service, which stands elsewhere than they do. */
export interface CollectorTests {
  /**
   * Takes the account's turn, and opens what is stored.
   * @throws Refusal `enterprise_required`, `conflict` where no address is stored, `rate_limited`, or as `authorisedBy`;
   *   StoreUnavailable; Busy
   */
  begin(caller: Caller): Promise<BegunTest>;
  /** Enters the outcome in the audit, whatever has become of the right to test. @throws StoreUnavailable */
  tell(caller: Pick<Caller, 'accountId'>, origin: Origin, result: TestResult): Promise<void>;
}

export const collectorTestMetrics = ({ delivery }: Sections) => ({
  collectorTested: delivery.counterOf({
    name: 'muster_collector_tests_total',
    help: 'Tests of collectors that owners made in the panel, by outcome.',
    labels: { outcome: TEST_OUTCOMES },
    unit: 'tests',
  }),
});

interface CollectorTestDeps extends MutationDeps {
  readonly envelope: Envelope;
  readonly egress: GuardedEgress;
  readonly metrics: MutationDeps['metrics'] & ReturnType<typeof collectorTestMetrics>;
}

/** Creates the tests; see `CollectorTests`. */
export function createCollectorTests(deps: CollectorTestDeps): CollectorTests {
  return {
    async begin(caller) {
      const otel = await begun(deps, caller);
      const { revision, config: { endpoint } = { endpoint: '' } } = otel;
      const header = openHeader(deps.envelope, caller.accountId, otel);
      return {
        revision,
        async send() {
          using stored = whileStored(deps.fleet, caller.accountId, otel);
          const outcome = await deps.egress.post({
            url: exportUrl(endpoint),
            headers: {
              ...(header && collectorHeaders(header.reveal())),
              'Content-Type': 'application/x-protobuf',
            },
            // An ExportTraceServiceRequest without a field has no bytes.
            body: '',
            withdrawn: stored.withdrawn,
            maySend: stored.maySend,
          });
          const result = { revision, ...judged(outcome) };
          deps.metrics.collectorTested(result.outcome);
          return result;
        },
      };
    },
    async tell({ accountId }, origin, { revision, outcome, status, why }) {
      const step: Step<void> = {
        accountId,
        action: 'otel.tested',
        detail: { revision, outcome, ...(status !== undefined && { status }), ...(why && { why }) },
        expect: [],
        write: [],
        result: undefined,
      };
      const done = await commitSteps(deps, [{ origin, step }], namesStored(deps.store), { quiet: true });
      if (done === 'conflict') throw new Busy('conflicts', 'The entry of the test could not be written.');
      committed(deps, origin, step);
    },
  };
}

/**
 * Takes the turn of the account over all replicas: the instant of the last test stands in a record, and its commit
 * expects the session and the role that allow the test, and the configuration that it tries: nothing is sent of one
 * that was purged before (O10).
 */
async function begun(deps: CollectorTestDeps, { accountId, authority, origin }: Caller): Promise<OtelRecord> {
  const key = KEYS.collectorTest(accountId);
  for (let attempt = 1; ; attempt += 1) {
    const reader = await deps.fleet.current();
    const relied: readonly Expectation[] = (await origin.guard?.(reader)) ?? [];
    const { account, expect } = await authorisedBy(reader, accountId, authority);
    if (account.record.entitlement !== 'enterprise') throw new Refusal('enterprise_required');
    const otel = await account.otel();
    if (!otel?.record.config?.endpoint) throw new Refusal('conflict', 'No address of a collector is stored.');
    const entry = await deps.store.get(key);
    const before = entry && parseRecord(KEYS.collectorTest, entry);
    const now = deps.clock.now();
    refuseSoon(before?.record.at, now);
    deps.quotas.refuseAtQuota(origin, { accountId, action: 'otel.tested', writeClass: 'growth' });
    refuseLate(deps, origin);
    const { outcome } = await deps.store.commit({
      expect: [expectAsFound(key, before), expectUnchanged(otel), ...unlike(expect, relied), ...relied],
      write: [put(key, { ...before?.record, at: now })],
      writeClass: 'growth',
      quiet: true,
    });
    if (outcome === 'committed') {
      const told = { actor: origin.actor, ...requestFields(origin), client: origin.client };
      deps.log.info({ ...told, accountId, revision: otel.record.revision }, 'a test of the collector begins');
      return otel.record;
    }
    await beforeAnotherAttempt(deps, attempt, origin.deadline);
  }
}

const unlike = (some: readonly Expectation[], others: readonly Expectation[]): readonly Expectation[] =>
  some.filter(({ key }) => !others.some((other) => other.key === key));

/** An instant that is ahead by more than a whole turn is of a clock that was wrong, and holds nobody up. */
function refuseSoon(last: number | undefined, now: number): void {
  const everyMs = LIMITS.collectorTestEveryMs;
  if (last === undefined || Math.abs(now - last) >= everyMs) return;
  throw new Refusal('rate_limited', 'The collector was tested a moment ago; come back after the time in Retry-After.', {
    retryAfterSeconds: Math.ceil((last + everyMs - now) / 1000),
  });
}

/** The signals of OTLP over HTTP, each with a path of its own. */
const OF_A_SIGNAL = /\/v1\/(?:traces|metrics|logs)\/?$/;

/**
 * The address of an export: the endpoint is the base of all signals (OTLP, "Endpoint URLs for OTLP/HTTP"), unless an
 * owner has stored the address of one.
 */
function exportUrl(endpoint: string): URL {
  return new URL(OF_A_SIGNAL.test(endpoint) ? endpoint : `${endpoint.replace(/\/$/, '')}/v1/traces`);
}

function judged(outcome: EgressOutcome): Omit<TestResult, 'revision'> {
  switch (outcome.kind) {
    case 'not-allowed':
    case 'withdrawn':
      return { outcome: outcome.kind };
    case 'tls-fault':
      return { outcome: 'tls-fault', says: outcome.says };
    case 'unreached':
      return { outcome: 'not-reached', why: outcome.why };
    case 'answered': {
      const { status } = outcome;
      if (status >= 200 && status < 300) return { outcome: 'reached', status };
      return { outcome: status === 401 || status === 403 ? 'header-refused' : 'not-reached', status };
    }
  }
}
