import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ruleFiles } from './rules.ts';

/* The rules of the chart with every duration divided: an hour of a fault passes in a minute. */

const MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const divided = (duration: string, by: number): string =>
  duration.replaceAll(
    /(\d+)([smhd])/g,
    (_, count: string, unit: string) => `${Math.max(1, Math.round((Number(count) * (MS[unit] ?? 0)) / by))}ms`,
  );

/** Divides the windows, the steps of subqueries and the offsets of an expression. */
const scaledExpr = (expr: string, by: number): string =>
  expr.replaceAll(/\[[^\]]+\]|\boffset \w+/g, (duration) => divided(duration, by));

/**
 * Writes the rule files into a folder with their windows, offsets and `for` divided. Numbers of seconds in an
 * expression stay: an alert that compares with one judges an age, and ages are as they are.
 * @returns their paths
 */
export function scaledRules(folder: string, by: number): readonly string[] {
  return ruleFiles.map(({ name, groups }) => {
    const scaled = groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: scaledExpr(rule.expr, by),
        ...('for' in rule && rule.for !== undefined && { for: divided(rule.for, by) }),
      })),
    }));
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify({ groups: scaled }));
    return path;
  });
}
