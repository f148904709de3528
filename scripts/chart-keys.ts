import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { documentedValues } from './chart-values.ts';

const KEYS = `{{/*
Written by \`npm run docs\` from values.yaml: its sections, each with the keys that cannot be left out.
*/}}
{{- define "muster.keys" -}}
`;
const EMPTY = `
{{/* The others, each with what it is then: nothing, and so are the maps that Kubernetes reads. */}}
{{- define "muster.empty" -}}
`;
const END = '{{- end }}\n';

/** The template that knows which values the others read. */
export function chartKeys(chart: string): string {
  const schema: unknown = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
  const text = readFileSync(join(chart, 'values.yaml'), 'utf8');
  const values = loadYaml<unknown>(text);
  const keys: Record<string, string[]> = { '': [] };
  const empty: Record<string, Record<string, unknown>> = {};
  for (const { path } of documentedValues(text).rows) {
    const steps = path.split('.');
    const [section, key] = [steps.slice(0, -1).join('.'), steps.at(-1) ?? ''];
    for (const [index] of steps.slice(1).entries()) keys[steps.slice(0, index + 1).join('.')] ??= [];
    const value = steps.reduce(fieldOf, values);
    if (value === null || mayBeNull(schema, steps)) continue;
    if (cannotBeLeftOut(value)) keys[section]?.push(key);
    else (empty[section] ??= {})[key] = isMap(value) ? {} : value;
  }
  const all = Object.entries(keys).map(([name, required]) => `${name || "''"}: [${required.join(', ')}]\n`);
  const others = Object.entries(empty).map(([name, fields]) => `${name || "''"}: ${JSON.stringify(fields)}\n`);
  return `${KEYS}${all.join('')}${END}${EMPTY}${others.join('')}${END}`;
}

const isMap = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value);

const cannotBeLeftOut = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value) && !isMap(value);

function mayBeNull(schema: unknown, steps: readonly string[]): boolean {
  const resolved = (node: unknown): unknown => {
    const reference = fieldOf(node, '$ref');
    return typeof reference === 'string' ? reference.slice(2).split('/').reduce(fieldOf, schema) : node;
  };
  const node = steps.reduce<unknown>((here, step) => resolved(fieldOf(fieldOf(here, 'properties'), step)), schema);
  const type = fieldOf(node, 'type');
  return Array.isArray(type) && type.includes('null');
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([name]) => name === key)?.[1]
    : undefined;
}
