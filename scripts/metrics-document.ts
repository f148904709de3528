import * as z from 'zod';
import { ROUTES as DEVICE_ROUTES } from '../src/api/device/device-plane.ts';
import { HELD_ROUTE } from '../src/api/device/poll-config.ts';
import { OPAMP_ROUTE } from '../src/api/opamp/opamp-endpoint.ts';
import { OPERATIONS, PROBES, PUBLIC } from '../src/api/operator/ops-server.ts';
import { ROUTES as V1_ROUTES } from '../src/api/v1/gateway.ts';
import type { Series } from '../src/metrics/instruments/section.ts';
import { NODE_UNITS } from '../src/metrics/process-metrics.ts';
import { createMetrics, type Metrics } from '../src/metrics/service-metrics.ts';

/* docs/METRICS.md, made from the instruments that the code registers. */

interface MetricsSection {
  readonly title: string;
  /** A sentence below the title; `''` where there is none. */
  readonly note: string;
  readonly series: readonly Series[];
}

const HEAD = `# Metrics

\`/metrics\` on the ops listener exposes these series in the text format of Prometheus, or in OpenMetrics 1.0.0. Names and labels are part of the
product's contract: the changelog tells of each one that is renamed or removed. The alerts and dashboards that read them
lie in \`charts/muster/files\`, and [RUNBOOK.md](RUNBOOK.md) says what to do when an alert fires. This document is made from the series that the rooms of
\`src\` declare, by \`npm run docs\`; a test holds that it is up to date.

- A histogram is stored as \`NAME_bucket\`, \`NAME_sum\` and \`NAME_count\`, a summary as \`NAME\`, \`NAME_sum\` and \`NAME_count\`.
- There are no \`_created\` series, in either format: Prometheus stores each as a series of its own, unless a flag of it is
  set that no scrape tells of. \`process_start_time_seconds\` says since when a process counts.
- Histograms are classic ones, also where Prometheus asks for native ones, which it does by asking for Protocol Buffers:
  it gets OpenMetrics then. The client library has neither (\`@prometheus-io/client\` 0.16.1;
  <https://github.com/prometheus/client_js/pull/856> would add both), and OpenMetrics 1.0.0 has no native histograms. A release
  of the library that has them would change this; a writer of Protocol Buffers of our own is not worth it. Prometheus 3
  can convert classic histograms as it scrapes them (\`convert_classic_histograms_to_nhcb\`); let it keep the classic ones
  beside them (\`always_scrape_classic_histograms\`), since the rules and boards read those.
- A label has one of the values that are listed below its table: no account, app, key or path becomes a label, but
  for the ids of a bounded number of accounts in the label \`account\`. A counter with one label has all its series from the
  start, at 0.
- A gauge "on the leader alone" has no series on the other replicas, also on one that led before. Every other gauge is on
  every replica: take the sum, the maximum or the minimum over them, as its meaning asks.
- A counter or histogram is on every replica, and counts what that one did: what the loops of the controller do, the leader.

To add a series, declare it in the room that counts it, in the section of this document that it belongs to
(\`src/metrics/instruments/sections.ts\`): its name, help text, unit, and the closed set of each label. Then run \`npm run docs\`.
`;

/** Every series of a process with all roles, the client library's own included, by section. */
export function metricsSections(): readonly MetricsSection[] {
  const metrics = createMetrics('0.0.0');
  const routes = [...new Set(['(none)', ...routePaths()])].sort();
  const own = metrics.sections.map(({ title, note, series }) => ({
    title,
    note,
    series: series.map((one) => ('route' in one.labels ? { ...one, labels: { ...one.labels, route: routes } } : one)),
  }));
  return [
    ...own,
    {
      title: 'Node.js',
      note: 'The client library registers them for each process; the values of their labels are those of Node.js.',
      series: librarySeries(metrics),
    },
  ];
}

/** The text of docs/METRICS.md. The `process_` series are those of Linux: elsewhere some are missing. */
export function metricsDocument(): string {
  return [HEAD, ...metricsSections().map((section) => sectionText(section))].join('\n');
}

function sectionText({ title, note, series }: MetricsSection): string {
  const rows = series.map(({ name, type, labels, unit, help }) => [
    code(name),
    type,
    Object.keys(labels).map(code).join(', '),
    unit,
    help,
  ]);
  const values = labelLines(series);
  return [
    `## ${title}\n`,
    ...(note === '' ? [] : [`${note}\n`]),
    ...table([['Series', 'Type', 'Labels', 'Unit', 'Meaning'], ...rows]),
    ...(values.length === 0 ? [] : ['', ...values]),
    '',
  ].join('\n');
}

/** A line for each label and set; series of the section that share both share the line. */
function labelLines(series: readonly Series[]): readonly string[] {
  const namesBySet = new Map<string, string[]>();
  for (const { name, labels } of series) {
    for (const [label, values] of Object.entries(labels)) {
      if (values.length === 0) continue;
      const words = values.map((value) => (value === '' ? 'empty' : code(value))).join(', ');
      const key = `${label}\n${words}`;
      namesBySet.set(key, [...(namesBySet.get(key) ?? []), name]);
    }
  }
  return [...namesBySet].map(([key, names]) => {
    const [label = '', words = ''] = key.split('\n');
    return `- ${code(label)} of ${names.map(code).join(', ')}: ${words}`;
  });
}

function table([head = [], ...rows]: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

const code = (text: string): string => `\`${text}\``;

function routePaths(): readonly string[] {
  const templates = [...V1_ROUTES, ...OPERATIONS, ...PROBES, ...PUBLIC, ...DEVICE_ROUTES].map(({ path }) => path);
  return [...templates, HELD_ROUTE, OPAMP_ROUTE];
}

const registered = z.object({
  name: z.string(),
  type: z.enum(['counter', 'gauge', 'histogram', 'summary']),
  labelNames: z.array(z.string()),
  help: z.string(),
});

function librarySeries({ registry, sections }: Metrics): readonly Series[] {
  const own = new Set(sections.flatMap(({ series }) => series.map(({ name }) => name)));
  const all = registry.getMetricsAsArray().map((metric) => registered.parse(metric));
  return all
    .filter(({ name }) => !own.has(name))
    .map(({ name, type, labelNames, help }) => ({
      name,
      type,
      help,
      unit: NODE_UNITS[name] ?? unitOf(name),
      labels: Object.fromEntries(labelNames.map((label) => [label, []])),
    }));
}

/** @throws Error when the name does not tell the unit: then it belongs into NODE_UNITS */
function unitOf(name: string): string {
  const unit = /_(seconds|bytes)(?:_total)?$/.exec(name)?.[1] ?? /_(seconds)_/.exec(name)?.[1];
  if (unit === undefined) throw new Error(`${name} has no unit in NODE_UNITS`);
  return unit;
}
