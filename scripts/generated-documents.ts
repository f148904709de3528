import { join } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { DOCUMENT_NAMES } from '../src/api/openapi/apis.ts';
import { documentOf } from '../src/api/openapi/document.ts';
import { contractDocument } from './callers-table.ts';
import { chartKeys } from './chart-keys.ts';
import { chartReadme } from './chart-readme.ts';
import { configurationDocument } from './configuration-document.ts';
import { eventsDocument, eventsSchema } from './events-document.ts';
import { metricsDocument } from './metrics-document.ts';
import { apiDocument } from './operations-table.ts';
import { architectureDocument } from './records-table.ts';

interface GeneratedDocument {
  /** Relative to the root of the repository. */
  readonly path: string;
  /** The whole text, in the form that `npm run format` leaves alone. */
  readonly text: () => Promise<string>;
  /** Where it is generated; on any platform where it is absent. */
  readonly platform?: NodeJS.Platform;
}

const CHART = join(import.meta.dirname, '../charts/muster');

const GENERATED: readonly GeneratedDocument[] = [
  { path: 'charts/muster/README.md', text: async () => await formatted(chartReadme(CHART)) },
  { path: 'charts/muster/templates/_keys.tpl', text: () => Promise.resolve(chartKeys(CHART)) },
  { path: 'docs/API.md', text: async () => await formatted(apiDocument()) },
  { path: 'docs/ARCHITECTURE.md', text: async () => await formatted(architectureDocument()) },
  { path: 'docs/CONFIGURATION.md', text: async () => await formatted(configurationDocument()) },
  { path: 'docs/CONTRACT.md', text: async () => await formatted(contractDocument()) },
  { path: 'docs/EVENTS.md', text: async () => await formatted(eventsDocument()) },
  { path: 'docs/events.schema.json', text: async () => await formatted(eventsSchema(), 'json') },
  // Some of the client library's own series are there on Linux alone.
  { path: 'docs/METRICS.md', platform: 'linux', text: async () => await formatted(metricsDocument()) },
  ...DOCUMENT_NAMES.map((name) => ({
    path: `docs/openapi/${name}.json`,
    text: async () => await formatted(JSON.stringify(documentOf(name)), 'json'),
  })),
];

/** The documents that can be written in full on this machine. */
export const GENERATED_HERE = GENERATED.filter(({ platform = process.platform }) => platform === process.platform);

async function formatted(text: string, parser: 'markdown' | 'json' = 'markdown'): Promise<string> {
  const options = await resolveConfig(import.meta.filename);
  return await format(text, { ...options, parser });
}
