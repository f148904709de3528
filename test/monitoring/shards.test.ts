import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { Store } from '../../src/store/port.ts';
import { cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { AlertTests, promtool } from '../support/monitoring/promtool.ts';
import { alerts, ruleFiles } from '../support/monitoring/rules.ts';
import { withAuditLog } from '../support/monitoring/with-audit-log.ts';
import { LightTraffic } from '../support/service/light-traffic.ts';
import { call, Muster } from '../support/service/muster.ts';
import { etcdBackend } from '../support/store/backends.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/*
 * Two replicas on one etcd, of which the leader hands over to the other: what each of them exposes, as a shard of
 * Prometheus sees it that scrapes no other replica.
 */

const SETUP_MS = 600_000;
const LEADER_ALONE = /; on the leader alone\.$/;
/** In steps of ten minutes: the longest look back of an alert is three days, but for that of purges. */
const STEPS = 600;
const JUDGED_AT = ['30m', '27h', '52h', '90h'];

const etcd = inject('etcd');

/** A store whose holder of the key `leader` loses it on command, and never has it again. */
class LosesLeadership {
  readonly #losing = new AbortController();

  wrap(store: Store): Store {
    const hold: Store['hold'] = async (key, ...rest) => {
      if (key !== KEYS.leader()) return await store.hold(key, ...rest);
      if (this.#losing.signal.aborted) return 'taken';
      const held = await store.hold(key, ...rest);
      if (held === 'taken') return held;
      return {
        revision: held.revision,
        lost: AbortSignal.any([held.lost, this.#losing.signal]),
        rewrite: (value) => held.rewrite(value),
        release: () => held.release(),
      };
    };
    return wrappedStore(store, { hold });
  }

  lose(): void {
    this.#losing.abort();
  }
}

describe.skipIf(etcd === undefined || !findPrometheus())('replicas of one installation', () => {
  const opened = new AsyncDisposableStack();
  const texts = { leader: '', follower: '', former: '' };
  const has = (text: string, name: string): boolean => new RegExp(`^${name}(?:_count)?(?:\\{| )`, 'm').test(text);
  const own = cataloguedSeries().filter(({ name, type }) => type === 'gauge' && name.startsWith('muster_'));
  /** The role, a file or TLS is not there, or no account is limited. */
  const absent = /^muster_(?:kubernetes_|certificate_|file_unusable$|rate_limit_top_|account_(?:growth|quota)_)/;
  const ofLeader = own.filter(({ name, help }) => LEADER_ALONE.test(help) && !absent.test(name));

  beforeAll(async () => {
    const { env: ofStore, ...place } = etcdBackend(etcd ?? '').place();
    const env = { ...ofStore, ...withAuditLog(opened) };
    const clock = new FakeClock(new Date().setUTCHours(0, 0, 0, 0) - 10_000);
    const leadership = new LosesLeadership();
    const wrapStore = (store: Store): Store => leadership.wrap(store);
    const one = opened.use(await Muster.start({ ...place, env, clock, wrapStore }));
    const exposed = async ({ ops }: Muster): Promise<string> => (await call(`${ops}/metrics`)).text;
    /** Time passes until one text has all of these lines. */
    const exposes = async (muster: Muster, ...lines: string[]): Promise<string> =>
      await comesTo(muster, (text) => lines.every((line) => text.includes(`\n${line}\n`)));
    const comesTo = async (muster: Muster, holds: (text: string) => boolean): Promise<string> => {
      let text = '';
      await until(async () => {
        text = await exposed(muster);
        const held = holds(text);
        if (!held) clock.advance(1000);
        return held;
      });
      return text;
    };
    await exposes(one, 'muster_controller_leading 1');
    const traffic = await LightTraffic.start(one, clock);
    const other = opened.use(await Muster.start({ ...place, env, clock }));
    await traffic.overMidnight();
    await traffic.counted();
    texts.follower = await exposes(
      other,
      'muster_controller_leading 0',
      'muster_controller_leader_known 1',
      'muster_replicas 2',
    );
    leadership.lose();
    await exposes(other, 'muster_controller_leading 1', 'muster_replicas 2');
    // Each loop of the new leader tells its gauges in its own first round.
    texts.leader = await comesTo(other, (text) => ofLeader.every(({ name }) => has(text, name)));
    texts.former = await exposes(one, 'muster_controller_leading 0', 'muster_controller_leader_known 1');
  }, SETUP_MS);
  afterAll(() => opened.disposeAsync(), SETUP_MS);

  test.each(['follower', 'former'] as const)(
    'a shard that scrapes a %s alone fires nothing in days',
    { timeout: SETUP_MS },
    async (role) => {
      using files = new AlertTests();
      const file = files.write({
        rule_files: ruleFiles.map(({ path }) => path),
        evaluation_interval: '10m',
        tests: [
          {
            interval: '10m',
            input_series: overDays(texts[role]),
            alert_rule_test: JUDGED_AT.flatMap((eval_time) =>
              alerts.map(({ alert }) => ({ eval_time, alertname: alert, exp_alerts: [] })),
            ),
          },
        ],
      });
      expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
    },
  );

  test('a gauge of which docs/METRICS.md says that the leader alone has it is on no other replica', () => {
    const alone = cataloguedSeries().filter(({ help }) => LEADER_ALONE.test(help));
    expect(alone.length).toBeGreaterThan(10);
    expect(ofLeader.length).toBeGreaterThan(5);
    for (const { name } of alone) {
      expect({ name, follower: has(texts.follower, name), former: has(texts.former, name) }).toEqual({
        name,
        follower: false,
        former: false,
      });
    }
  });

  test('every other gauge is on every replica', () => {
    const everywhere = own.filter((gauge) => !ofLeader.includes(gauge) && !absent.test(gauge.name));
    expect(everywhere.length).toBeGreaterThan(10);
    for (const text of Object.values(texts)) {
      expect(everywhere.map(({ name }) => name).filter((name) => !has(text, name))).toEqual([]);
    }
  });
});

/** The text of a replica, unchanged for days but for its clock; a time that it tells is one before all of them. */
function overDays(text: string): readonly { readonly series: string; readonly values: string }[] {
  const lines = [...text.matchAll(/^((?:muster|process|nodejs)_\w+)(?:\{(.*)\})? (\S+)$/gm)];
  const exposed = lines.map(([, name = '', labels = '', value = '']) => ({
    series: `${name}{job="muster",instance="a"${labels === '' ? '' : `,${labels}`}}`,
    values: valuesOf(name, Number(value)),
  }));
  return [...exposed, { series: 'up{job="muster",instance="a"}', values: `1x${STEPS}` }];
}

function valuesOf(name: string, value: number): string {
  if (name === 'muster_wall_clock_seconds') return `0+600x${STEPS}`;
  if (name.endsWith('_timestamp_seconds') && value > 0) return `1x${STEPS}`;
  // promtool repeats numbers alone.
  return Number.isNaN(value) ? Array.from({ length: STEPS }, () => 'NaN').join(' ') : `${value}x${STEPS}`;
}
