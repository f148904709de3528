import type { Board } from './board.ts';
import { atLeast, lines, number, of, rising, table, type Panel } from './panel.ts';
import { INSTALLATION, orNone, series, sum } from './query.ts';

/* The two objectives of docs/adr/0022-service-level-objectives.md, and the requests that spend their budgets. */

interface Objective {
  /** The recorded series of what is bad, and of all. */
  readonly bad: 'errors' | 'slow';
  readonly all: 'requests' | 'answers';
  /** The share that may be bad. */
  readonly allowed: number;
  readonly alerts: readonly [fast: string, slow: string];
}
const AVAILABILITY: Objective = {
  bad: 'errors',
  all: 'requests',
  allowed: 0.001,
  alerts: ['MusterAvailabilityBurningFast', 'MusterAvailabilityBurningSlowly'],
};
const LATENCY: Objective = {
  bad: 'slow',
  all: 'answers',
  allowed: 0.01,
  alerts: ['MusterLatencyBurningFast', 'MusterLatencyBurningSlowly'],
};

const REQUESTS = 'muster_http_request_duration_seconds';
const LISTENERS = 'listener=~"api|device"';
/** As the recording rules of `muster:errors` and `muster:answers` have them. */
const FAILED = `${LISTENERS},status=~"5..",code!="quota"`;
const ANSWERED = `${LISTENERS},status=~"2..|304",route!~".* .held.+"`;
const REJECTED = `${LISTENERS},why=~"request_bound|connection_bound"`;

/** A recorded rate over a window, by listener. */
const recorded = (name: string, window: string): string =>
  sum(`muster:${name}:rate${window}{${INSTALLATION}}`, 'listener');
/** Each hour of 30 days counts by its requests; an hour without errors has no series of them. */
const over30Days = (name: string): string =>
  sum(`sum_over_time(muster:${name}:rate1h{${INSTALLATION}}[30d:1h])`, 'listener');

const budget = (words: Pick<Panel, 'title' | 'description'>, { bad, all, allowed, alerts }: Objective): Panel =>
  number(
    { ...words, unit: 'percentunit', max: 1, steps: atLeast(0), width: 12, alert: alerts[1] },
    `1 - ${orNone(over30Days(bad), over30Days(all))} / ${over30Days(all)} / ${allowed}`,
    '{{listener}}',
  );

/** The rest of the budgets; they stand on the overview, too. */
export const budgets = [
  budget(
    {
      title: 'Error budget left of 30 days',
      description: 'Of the 0.1 % of requests that may fail: 0 % and the objective is missed.',
    },
    AVAILABILITY,
  ),
  budget(
    {
      title: 'Latency budget left of 30 days',
      description: 'Of the 1 % of answers that may take longer than 250 ms: 0 % and the objective is missed.',
    },
    LATENCY,
  ),
];

/** The share of good requests within three days. */
const reached = (words: Pick<Panel, 'title' | 'description'>, { bad, all, allowed }: Objective): Panel =>
  number(
    { ...words, unit: 'percentunit', max: 1, steps: atLeast(1 - allowed), width: 12 },
    `1 - ${recorded(bad, '3d')} / ${recorded(all, '3d')}`,
    '{{listener}}',
  );

const objectives = [
  reached(
    {
      title: 'Availability, 3 days',
      description: 'Requests that were neither answered with 5xx nor rejected. The objective is 99.9 % over 30 days.',
    },
    AVAILABILITY,
  ),
  reached(
    {
      title: 'Within 250 ms, 3 days',
      description: 'Answers of 2xx and 304, without held polls, that took at most 250 ms. The objective is 99 %.',
    },
    LATENCY,
  ),
];

/** @param at the burn from which somebody is told */
const burn = (
  { bad, all, allowed, alerts }: Objective,
  speed: 0 | 1,
  words: Pick<Panel, 'title' | 'description'>,
  at: readonly [yellow: number, red: number],
  windows: readonly string[],
): Panel =>
  lines(
    { ...words, unit: 'suffix: ×', steps: rising(...at), alert: alerts[speed] },
    ...windows.map((window) =>
      of(`${recorded(bad, window)} / ${recorded(all, window)} / ${allowed}`, `{{listener}} ${window}`),
    ),
  );

const WAKES =
  'How many times faster than allowed the budget goes: 1 uses it up in 30 days. Both windows above 14.4 (1h, 5m) or 6 (6h, 30m) wake somebody.';
const TELLS = 'Both windows above 3 (1d, 2h) or 1 (3d, 6h) are a warning: the budget ends before its 30 days.';
const FAST = ['5m', '30m', '1h', '6h'];
const SLOW = ['2h', '6h', '1d', '3d'];

const burns = [
  burn(AVAILABILITY, 0, { title: 'Error budget, fast burn', description: WAKES }, [6, 14.4], FAST),
  burn(LATENCY, 0, { title: 'Latency budget, fast burn', description: WAKES }, [6, 14.4], FAST),
  burn(AVAILABILITY, 1, { title: 'Error budget, slow burn', description: TELLS }, [1, 3], SLOW),
  burn(LATENCY, 1, { title: 'Latency budget, slow burn', description: TELLS }, [1, 3], SLOW),
];

const within = (window: string, kind: 'rate' | 'increase') => (name: string, more: string) =>
  `${kind}(${series(name, more)}[${window}])`;
/** Over the window of the recorded series that they are divided by. */
const now = within('5m', 'rate');
const lately = within('6h', 'increase');

/** The burn rate of these alone: 1 spends the budget of their listener just as fast as allowed. */
const spentBy = ({ all, allowed }: Objective, bad: string): string =>
  `${bad} / on (cluster, listener) group_left () ${recorded(all, '5m')} / ${allowed}`;
/** The answers that took longer than 250 ms. */
const slow = (over: typeof now, ...by: string[]): string =>
  `(${sum(over(`${REQUESTS}_count`, ANSWERED), ...by)} - ${sum(over(`${REQUESTS}_bucket`, `${ANSWERED},le="0.25"`), ...by)})`;

/** The parts of the burn over 5 minutes: those of a listener add up to it. */
const spending = {
  failed: spentBy(AVAILABILITY, sum(now(`${REQUESTS}_count`, FAILED), 'listener', 'method', 'route', 'code')),
  rejected: spentBy(AVAILABILITY, sum(now('muster_http_rejected_total', REJECTED), 'listener', 'why')),
  slow: spentBy(LATENCY, slow(now, 'listener', 'method', 'route')),
};
const TIMES = { unit: 'suffix: ×', steps: rising(1, 14.4), stacked: true };

const spenders = [
  lines(
    {
      ...TIMES,
      title: 'Error budget spent, by route',
      description: 'How many times faster than allowed the failures of a route alone spend the budget of its listener.',
      alert: 'MusterAvailabilityBurningFast',
      mayBeEmpty: 'while nothing fails',
    },
    of(spending.failed, '{{listener}} {{method}} {{route}} {{code}}'),
  ),
  lines(
    {
      ...TIMES,
      title: 'Latency budget spent, by route',
      description: 'The same for the answers of a route that took longer than 250 ms.',
      alert: 'MusterLatencyBurningFast',
    },
    of(spending.slow, '{{listener}} {{method}} {{route}}'),
  ),
  lines(
    {
      ...TIMES,
      title: 'Error budget spent by rejections',
      description: 'Requests and connections beyond a bound of the listener, which never had a route.',
      alert: 'MusterRejectsRequests',
    },
    of(spending.rejected, '{{listener}} {{why}}'),
  ),
  table(
    {
      title: 'Spent within 6 hours, by route',
      description: 'Requests of the two listeners: all of them, those that failed, and answers slower than 250 ms.',
      unit: 'short',
      alert: 'MusterAvailabilityBurningFast',
      mayBeEmpty: 'while nothing fails',
    },
    'route',
    { name: 'Requests', expr: sum(lately(`${REQUESTS}_count`, LISTENERS), 'route') },
    { name: 'Failed', expr: sum(lately(`${REQUESTS}_count`, FAILED), 'route') },
    { name: 'Slower than 250 ms', expr: slow(lately, 'route') },
  ),
];

export const sloBoard: Board = {
  name: 'slo',
  title: 'Muster: objectives',
  description: 'Error budgets of the api and device listeners, how fast they burn, and which requests spend them.',
  rows: [
    { title: 'Budgets', panels: [...budgets, ...objectives] },
    { title: 'Burn', panels: burns },
    { title: 'Spent by', panels: spenders },
  ],
};
