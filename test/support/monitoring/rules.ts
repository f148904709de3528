import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import * as z from 'zod';

/* The rule files of the chart, as Prometheus reads them. */

const RULES_FOLDER = resolve(import.meta.dirname, '../../../charts/muster/files/rules');

const alertSchema = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.string() }),
  annotations: z.strictObject({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
});
const recordSchema = z.strictObject({ record: z.string(), expr: z.string() });
const fileSchema = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([alertSchema, recordSchema])) })),
});

type Alert = z.infer<typeof alertSchema>;
type Recorded = z.infer<typeof recordSchema>;

interface RuleFile {
  readonly name: string;
  readonly path: string;
  readonly groups: z.infer<typeof fileSchema>['groups'];
}

export const ruleFiles: readonly RuleFile[] = readdirSync(RULES_FOLDER)
  .toSorted()
  .map((name) => {
    const path = join(RULES_FOLDER, name);
    return { name, path, ...fileSchema.parse(loadYaml(readFileSync(path, 'utf8'))) };
  });

const rules = ruleFiles.flatMap(({ groups }) => groups.flatMap((group) => group.rules));
export const alerts: readonly Alert[] = rules.filter((rule) => 'alert' in rule);
export const records: readonly Recorded[] = rules.filter((rule) => 'record' in rule);
