import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { createAllMetrics } from '../../../src/metrics/all-metrics.ts';
import { LISTENERS } from '../../../src/metrics/labels.ts';

/* docs/METRICS.md as data, and the registry in the same words. */

export interface Series {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly meaning: string;
}

export interface CataloguedSeries extends Series {
  readonly unit: string;
  readonly since: string;
}

export interface LabelSet {
  readonly label: string;
  readonly series: readonly string[];
  /** `''` where the label may be empty. */
  readonly values: readonly string[];
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const spans = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);

function rows(): string[][] {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs/METRICS.md'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => cellsOf(line));
}

export function cataloguedSeries(): CataloguedSeries[] {
  return rows()
    .filter((cells) => cells.length === 6)
    .map(([name, type = '', labels, unit = '', meaning = '', since = '']) => ({
      name: spans(name)[0] ?? '',
      type,
      labels: spans(labels),
      unit,
      meaning,
      since,
    }));
}

export function cataloguedLabels(): LabelSet[] {
  return rows()
    .filter((cells) => cells.length === 3)
    .map(([label, series, values = '']) => ({
      label: spans(label)[0] ?? '',
      series: spans(series),
      values: [...spans(values), ...(values.endsWith('and empty') ? [''] : [])],
    }));
}

const registered = z.object({ name: z.string(), type: z.string(), labelNames: z.array(z.string()), help: z.string() });

/** Every series of a process with all roles, as the code registers it, with the label values that it has at once. */
export async function registeredSeries(): Promise<
  (Series & { readonly initial: ReadonlyMap<string, readonly string[]> })[]
> {
  const metrics = createAllMetrics('0.0.0');
  const [none, no] = [() => 0, () => []];
  metrics.gauges({
    accounts: none,
    apps: none,
    heldPolls: none,
    inFlight: () => LISTENERS.map((listener) => [listener, 0] as const),
    rateFill: no,
    accountsLimitedLately: none,
    storeFullness: none,
    cacheReady: () => true,
    storeRevisionLag: none,
  });
  const values = new Map((await metrics.registry.getMetricsAsJSON()).map((metric) => [metric.name, metric.values]));
  return metrics.registry.getMetricsAsArray().map((metric) => {
    const { name, type, labelNames, help } = registered.parse(metric);
    const initial = new Map(
      labelNames.map((label) => [
        label,
        [...new Set((values.get(name) ?? []).map(({ labels }) => String(labels[label] ?? '')))].sort(),
      ]),
    );
    return { name, type, labels: labelNames, meaning: help, initial };
  });
}

/** As a row of the document begins. */
export const rowOf = ({ name, type, labels, meaning }: Series): string =>
  `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | … | ${meaning} | …`;
