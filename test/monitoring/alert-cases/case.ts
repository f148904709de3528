/* When an alert fires, and its neighbour that must not. Values are promtool's: `start+step x times`, at each step. */

export type Labels = Readonly<Record<string, string>>;

export interface Situation {
  readonly why: string;
  /** Without a `job` they are of the job `muster`. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** The step of the values and of the evaluation; a minute unless it says otherwise. */
  readonly step?: string;
  /** Those of the alert that fires, where they are not those of the other situations. */
  readonly labels?: Labels;
}

interface AlertCase {
  readonly fires: Situation;
  readonly alsoFires?: readonly Situation[];
  /** Beside `alertname` and `severity`, which every one has. */
  readonly labels: Labels;
  /** One of them at the time when it fires: test/monitoring/clusters.test.ts sets both beside each other. */
  readonly quiet: readonly Situation[];
}

export type AlertCases = Readonly<Record<string, AlertCase>>;

export const JOB = { job: 'muster' };
export const REPLICA = { ...JOB, instance: 'a' };
export const API = { ...JOB, listener: 'api' };

export const gauge = (name: string, value: string, more = 'instance="a"'): Record<string, string> => ({
  [`${name}{${more}}`]: value,
});

/** In steps of ten minutes. */
export const DAY = 144;
