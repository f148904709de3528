import { shellWord } from '../../text/shell-words.ts';
import type { Operation } from '../contract/operation.ts';
import { SECRET_FIELDS } from '../contract/secret-fields.ts';
import type { Api as AnyApi } from './apis.ts';

/* The samples of an operation: the same request by curl, by the TypeScript client and by the command line. */

/** An API that has samples. */
type Api = AnyApi & { readonly sample: NonNullable<AnyApi['sample']> };

export interface CodeSample {
  readonly lang: 'Shell' | 'TypeScript';
  readonly label: 'curl' | 'TypeScript' | 'muster';
  readonly source: string;
}

/** The example of a request. */
interface RequestExample {
  /** The ids in the path, in order. */
  readonly ids: Readonly<Record<string, string>>;
  /** Required parameters of the query alone. */
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

export const samplesOf = (api: Api, operation: Operation, example: RequestExample): readonly CodeSample[] => [
  { lang: 'Shell', label: 'curl', source: curl(api, operation, example) },
  { lang: 'TypeScript', label: 'TypeScript', source: typeScript(api, operation, example) },
  ...(operation.command === undefined
    ? []
    : [{ lang: 'Shell', label: 'muster', source: `muster ${filled(operation.command, example)}` } as const]),
];

/** The file that takes an answer which is no JSON object. */
const ANSWER_FILE = 'answer.ndjson';
const isForFile = ({ answers: [{ schema, otherTypes }] }: Operation): boolean => !schema && otherTypes !== undefined;

function curl({ sample }: Api, operation: Operation, { ids, query, body }: RequestExample): string {
  const { method, path, credential, idempotency } = operation;
  const search = new URLSearchParams(query).toString();
  const target = Object.entries(ids).reduce((filled, [name, id]) => filled.replace(`:${name}`, id), path);
  const isSecret = Object.keys(body ?? {}).some((field) => SECRET_FIELDS.has(field));
  const firstLine = sample.isNamed === true ? "sed '1!d;s/.*://'" : 'head -n 1';
  const bearer =
    credential === 'optional' ? '' : `{ printf 'Authorization: Bearer '; ${firstLine} "$${sample.variable}"; } | `;
  const lines = [
    `${bearer}curl -sS${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "$${sample.url}${target}${search === '' ? '' : `?${search}`}"`,
    ...(bearer === '' ? [] : ['-H @-']),
    ...(idempotency ? ["-H 'Idempotency-Key: a-key-of-your-own'"] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'"]),
    ...(body === undefined ? [] : [`-d ${isSecret ? '@request.json' : shellWord(JSON.stringify(body))}`]),
  ];
  const request = [...lines, ...(isForFile(operation) ? [`-o ${ANSWER_FILE}`] : [])].join(' \\\n  ');
  if (isForFile(operation)) return `(umask 077; ${request})`;
  if (!isSecret) return request;
  return [`(umask 077; cat > request.json) <<'END'`, JSON.stringify(body), 'END', request].join('\n');
}

function typeScript({ sample }: Api, operation: Operation, { ids, query, body }: RequestExample): string {
  const { client, url, secret, variable } = sample;
  const { id, credential } = operation;
  const values = [...Object.values(ids), ...(body ? [body] : []), ...(Object.keys(query).length > 0 ? [query] : [])];
  const asked = `await muster.${id}(${values.map(literal).join(', ')})`;
  const isFile = isForFile(operation);
  const call = isFile
    ? `const { body } = ${asked};\nawait writeFile('${ANSWER_FILE}', body, { mode: 0o600 });`
    : `const answer = ${asked};`;
  const imported = `import { ${client} } from '@muster/client';`;
  if (credential === 'optional') {
    return [
      imported,
      '',
      `const { ${url} = '' } = process.env;`,
      `const muster = new ${client}({ url: ${url} });`,
      call,
    ].join('\n');
  }
  return [
    `import { readFileSync } from 'node:fs';`,
    ...(isFile ? [`import { writeFile } from 'node:fs/promises';`] : []),
    imported,
    '',
    // With a default a variable is a text, as the options want it under `strict`.
    `const { ${url} = '', ${variable} = '' } = process.env;`,
    ...(sample.isNamed === true
      ? [
          `const [line = ''] = readFileSync(${variable}, 'utf8').split('\\n');`,
          `const ${secret} = line.replace(/^.*:/, '').trim();`,
        ]
      : [`const ${secret} = readFileSync(${variable}, 'utf8').trim();`]),
    `const muster = new ${client}({ url: ${url}, ${secret} });`,
    call,
  ].join('\n');
}

/** A value as TypeScript spells it. */
function literal(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const fields = Object.entries(value).map(([name, field]) => `${nameOf(name)}: ${literal(field)}`);
  return `{ ${fields.join(', ')} }`;
}

const nameOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : literal(name));

/** The command with the values of the example in place of `{field}`. */
function filled(command: string, { ids, query, body }: RequestExample): string {
  const values: Readonly<Record<string, unknown>> = { ...body, ...query, ...ids };
  return command.replaceAll(/\{(\w+)\}/g, (_text, name: string) => {
    const value = values[name];
    if (typeof value === 'string') return shellWord(value);
    throw new Error(`The command "${command}" names ${name}, which is no text of the example.`);
  });
}
