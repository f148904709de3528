import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratchDirectory } from '../run/scratch-directory.ts';
import { findPrometheus } from './prometheus-binary.ts';
import { alerts, records } from './rules.ts';

/* Situations as promtool judges them, by the rules of the chart. */

type Labels = Readonly<Record<string, string>>;

interface Judged {
  /** By name and labels; a series without a `job` is of the job `muster`. */
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** The step of the values and of the evaluation; a minute unless it says otherwise. */
  readonly step?: string;
}

const run = promisify(execFile);

/**
 * Runs promtool beside this process, in which a leader may have a lease to renew.
 * @throws Error with what it said, where it fails
 */
export async function promtool(...args: string[]): Promise<string> {
  return (await run(findPrometheus()?.promtool ?? 'promtool', args, { maxBuffer: 64 * 1_048_576 })).stdout;
}

export async function promtoolSucceeds(...args: string[]): Promise<boolean> {
  try {
    return !(await promtool(...args)).includes('FAILED');
  } catch {
    return false;
  }
}

const reads = (expr: string, name: string): boolean => new RegExp(`${name}(?!\\w)`).test(expr);

/** The alert and what it reads, without its annotations: promtool compares these to the letter. */
function rulesOf(name: string): object {
  const { annotations: _words, ...alert } = alerts.find((rule) => rule.alert === name) ?? { annotations: {} };
  const read = records.filter(({ record }) => 'expr' in alert && reads(alert.expr, record));
  const further = records.filter(({ record }) => read.some(({ expr }) => reads(expr, record)));
  return { groups: [{ name, rules: [...new Set([...further, ...read]), alert] }] };
}

/** Writes files of tests for `promtool test rules` into a folder of its own, which goes with it. */
export class AlertTests implements Disposable {
  readonly #folder = scratchDirectory('muster-rules');
  #files = 0;

  /** @param fires the labels of each alert of that name that must fire, but for `alertname` and `severity` */
  file(alertname: string, { series, at, step = '1m' }: Judged, fires: readonly Labels[]): string {
    const rules = join(this.#folder, `${alertname}-rules.yaml`);
    writeFileSync(rules, JSON.stringify(rulesOf(alertname)));
    const severity = alerts.find(({ alert }) => alert === alertname)?.labels.severity ?? '';
    const input_series = Object.entries(series).map(([name, values]) => ({
      series: name.includes('job=') ? name : name.replace('{', '{job="muster",'),
      values,
    }));
    const exp_alerts = fires.map((labels) => ({ exp_labels: { severity, ...labels } }));
    const alert_rule_test = [{ eval_time: at, alertname, exp_alerts }];
    return this.write({
      rule_files: [rules],
      evaluation_interval: step,
      tests: [{ interval: step, input_series, alert_rule_test }],
    });
  }

  /** @param tests as promtool reads them @returns the path of the file */
  write(tests: object): string {
    this.#files += 1;
    const file = join(this.#folder, `${this.#files}.yaml`);
    writeFileSync(file, JSON.stringify(tests));
    return file;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
