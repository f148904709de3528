import type { Operation } from '../src/api/contract/operation.ts';
import { API_NAMES, APIS } from '../src/api/openapi/apis.ts';
import { withSections } from './written-section.ts';

/* The tables of docs/API.md that have every operation of the three APIs. */

/** The text of docs/API.md with the tables as they are to be. */
export const apiDocument = (): string =>
  withSections(
    'API.md',
    API_NAMES.map((name) => ({ source: `src/api/contract/${name}`, content: table(APIS[name].operations) })),
  );

const table = (operations: readonly Operation[]): string =>
  ['| Operation | Effect |', '| --- | --- |', ...operations.map((operation) => row(operation))].join('\n');

function row({ method, path, description, requires }: Operation): string {
  const [sentence = description] = /^.*?\.(?=\s|$)/.exec(description) ?? [];
  const place = path.replaceAll(/:(\w+)/g, '{$1}');
  return `| \`${method.toUpperCase()} ${place}\` | ${sentence}${requires ? ' (Enterprise)' : ''} |`;
}
