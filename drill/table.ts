import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { DRILLS, type DrillName } from './drills.ts';
import type { Outcome } from './run.ts';

/* The table of docs/DRILLS.md: what each drill took when it was measured last. */

const DOCUMENT = join(import.meta.dirname, '../docs/DRILLS.md');
const MEASURED =
  /(?<=<!-- Measured by `npm run drill -- all --write`. -->\n).*(?=<!-- The end of what is measured. -->)/s;

/** Writes the measured seconds in place of those before. */
export async function writeTable(outcomes: ReadonlyMap<DrillName, Outcome>): Promise<void> {
  const rows = [...outcomes].map(([name, { firedSeconds, endedSeconds }]) => {
    const { fault, alert } = DRILLS[name];
    const link = `[${alert}](RUNBOOK.md#${alert.toLowerCase()})`;
    return `| \`${name}\` | ${fault} | ${link} | ${firedSeconds} | ${endedSeconds} |`;
  });
  const table = ['| Drill | Fault | Alert | Seconds until it fired | Seconds until it ended |', '|-|-|-|-|-|', ...rows];
  const text = readFileSync(DOCUMENT, 'utf8').replace(MEASURED, () => `\n${table.join('\n')}\n\n`);
  const options = await prettier.resolveConfig(DOCUMENT);
  writeFileSync(DOCUMENT, await prettier.format(text, { ...options, parser: 'markdown' }));
}
