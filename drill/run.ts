import { setTimeout as sleep } from 'node:timers/promises';
import { commandsOf, run } from './runbook.ts';
import { DRILLS, type Drill, type DrillName } from './drills.ts';
import { DIVIDED_BY, Stage } from './stage.ts';

/** The result of a drill. */
export interface Outcome {
  /** From the fault until Prometheus had the alert firing. */
  readonly firedSeconds: number;
  /** From the mend until it fired no more. */
  readonly endedSeconds: number;
  /** The output of each command of the runbook while the alert fired. */
  readonly printed: readonly string[];
}

const LOOK_EVERY_MS = 1000;
const WAIT_MS_MAX = 600_000;
const LINES_MAX = 12;
const COLUMNS_MAX = 160;

/** Brings the fault in, waits for its alert, runs the runbook's commands, mends it and waits for the end. */
export async function drill(name: DrillName, say: (line: string) => void): Promise<Outcome> {
  const { fault, alert, mend, inject, goOn, end }: Drill = DRILLS[name];
  say(`${name}: two replicas on an etcd, before a Prometheus that has the rules of the chart.`);
  say(`Their windows and their "for" are divided by ${DIVIDED_BY}; ages in seconds are as they are.`);
  await using stage = await Stage.open();
  const isFiring = async (): Promise<boolean> =>
    (await stage.prometheus.query(`ALERTS{alertname="${alert}",alertstate="firing"}`)).length > 0;

  say(`\nFault: ${fault}`);
  let since = performance.now();
  await inject(stage);
  await until(isFiring, `${alert} fires`, async () => await goOn?.(stage));
  const firedSeconds = secondsSince(since);
  say(`${alert} fires after ${firedSeconds} s.`);

  const printed: string[] = [];
  for (const command of commandsOf(alert)) {
    say(`\n$ ${command}`);
    const output = await run(command, stage.settings);
    printed.push(output);
    for (const line of shown(output)) say(line);
  }

  say(`\nMend: ${mend}`);
  since = performance.now();
  await end?.(stage);
  await until(async () => !(await isFiring()), `${alert} ends`);
  const endedSeconds = secondsSince(since);
  say(`${alert} has ended after ${endedSeconds} s.`);
  return { firedSeconds, endedSeconds, printed };
}

async function until(holds: () => Promise<boolean>, what: string, meanwhile?: () => Promise<void>): Promise<void> {
  const end = performance.now() + WAIT_MS_MAX;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${WAIT_MS_MAX / 1000} s.`);
    await meanwhile?.();
    await sleep(LOOK_EVERY_MS);
  }
}

const secondsSince = (since: number): number => Math.round((performance.now() - since) / 1000);

function shown(output: string): readonly string[] {
  const lines = output.split('\n').map((line) => (line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX)}…` : line));
  const more = lines.length - LINES_MAX;
  return more > 0 ? [...lines.slice(0, LINES_MAX), `… ${more} more lines`] : lines;
}
