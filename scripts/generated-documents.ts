import { format, resolveConfig } from 'prettier';
import { configurationDocument } from './configuration-document.ts';

export interface GeneratedDocument {
  /** Relative to the root of the repository. */
  readonly path: string;
  /** The whole text, in the form that `npm run format` leaves alone. */
  readonly text: () => Promise<string>;
}

export const GENERATED: readonly GeneratedDocument[] = [
  { path: 'docs/CONFIGURATION.md', text: async () => await formatted(configurationDocument()) },
];

async function formatted(markdown: string): Promise<string> {
  const options = await resolveConfig(import.meta.filename);
  return await format(markdown, { ...options, parser: 'markdown' });
}
