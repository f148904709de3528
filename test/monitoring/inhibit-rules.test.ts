import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { alerts } from '../support/monitoring/rules.ts';
import { ALERT_CASES } from './alert-cases/all.ts';

/* The inhibit rules are for Alertmanager, which takes an equal label also where both alerts lack it. */

const FILE = resolve(import.meta.dirname, '../../charts/muster/files/alertmanager/inhibit-rules.yaml');

/** Outside of Kubernetes and of several clusters an alert has neither of the first two. */
const INSTALLATION = ['cluster', 'namespace', 'job'];

const matchers = z.tuple([z.string()]);
const { inhibit_rules: rules } = z
  .strictObject({
    inhibit_rules: z.array(
      z.strictObject({ source_matchers: matchers, target_matchers: matchers, equal: z.array(z.string()) }),
    ),
  })
  .parse(loadYaml(readFileSync(FILE, 'utf8')));

/** The alerts that a matcher names, by the anchored expression that Alertmanager makes of it. */
function namedBy(matcher: string): readonly string[] {
  const [, operator, value = ''] = /^alertname (=~?) "?([^"]+)"?$/.exec(matcher) ?? expect.unreachable(matcher);
  const pattern = operator === '=' ? undefined : new RegExp(`^(?:${value})$`);
  return alerts.map(({ alert }) => alert).filter((alert) => pattern?.test(alert) ?? alert === value);
}
const targetsOf = (source: string): readonly string[] =>
  rules
    .filter(({ source_matchers: [matcher] }) => namedBy(matcher).includes(source))
    .flatMap(({ target_matchers: [matcher] }) => namedBy(matcher));

test('each names alerts that there are, with labels that both have', () => {
  expect(rules.length).toBeGreaterThan(3);
  for (const {
    source_matchers: [source],
    target_matchers: [target],
    equal,
  } of rules) {
    expect(namedBy(source), `of ${source}`).toHaveLength(1);
    for (const alternative of target.match(/Muster\w+(?:\([^)]*\))?/g) ?? []) {
      expect(namedBy(`alertname =~ "${alternative}"`), `of ${alternative}`).not.toEqual([]);
    }
    expect(equal.slice(0, INSTALLATION.length)).toEqual(INSTALLATION);
    for (const alert of [...namedBy(source), ...namedBy(target)]) {
      const labels = Object.keys(ALERT_CASES[alert]?.labels ?? {});
      expect(labels, `of ${alert}`).toEqual(expect.arrayContaining(equal.slice(INSTALLATION.indexOf('job'))));
    }
  }
});

test('a lost store silences what follows from it, and no alert that pages for something else', () => {
  expect(targetsOf('MusterStoreDown')).toEqual(
    expect.arrayContaining([
      'MusterNoLeader',
      'MusterAvailabilityBurningFast',
      'MusterAvailabilityBurningSlowly',
      'MusterLatencyBurningFast',
      'MusterLatencyBurningSlowly',
    ]),
  );
  const silenced = new Set(rules.flatMap(({ target_matchers: [target] }) => namedBy(target)));
  const never = ['MusterDown', 'MusterStoreDown', 'MusterStoreFull', 'MusterNightMissing', 'MusterPurgeNotForgotten'];
  expect(never.filter((alert) => silenced.has(alert))).toEqual([]);
});

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60 };
function pendingMinutes(name: string): number {
  const pending = alerts.find(({ alert }) => alert === name)?.for ?? '0m';
  const [, count = '', unit = ''] = /^(\d+)([mh])$/.exec(pending) ?? expect.unreachable(pending);
  return Number(count) * (MINUTES[unit] ?? expect.unreachable(unit));
}

test('none waits longer than what it silences', () => {
  for (const {
    source_matchers: [source],
    target_matchers: [target],
  } of rules) {
    const [waits = NaN] = namedBy(source).map(pendingMinutes);
    for (const alert of namedBy(target)) expect(waits, `of ${source}`).toBeLessThanOrEqual(pendingMinutes(alert));
  }
});

test('an account at its limit silences that requests wait', () => {
  expect(targetsOf('MusterAccountsLimited')).toEqual(['MusterRateLimitWaits']);
  expect(pendingMinutes('MusterAccountsLimited')).toBeLessThan(pendingMinutes('MusterRateLimitWaits'));
});
