import { contract, rowsOf, rulesOf } from '../repository/contract.ts';
import { DOCUMENT_NAMES, type DocumentName } from '../openapi/documents.ts';

/* The table of CONTRACT.md#callers as it is committed, which a person has read: it is no output of the code here. */

/** The outcome for a caller: a status that refuses, or what it asks, in part where there is a note. */
export interface Cell {
  readonly status?: 401 | 403 | 404;
  readonly note?: string;
}

export interface Row {
  readonly api: DocumentName;
  /** In upper case. */
  readonly method: string;
  /** With its parameters as the documents spell them: `/v1/apps/{appId}`. */
  readonly path: string;
  /** The cells, by the names of the callers. */
  readonly cells: ReadonlyMap<string, Cell>;
}

interface Table {
  readonly api: DocumentName;
  readonly callers: readonly string[];
  readonly rows: readonly Row[];
}

const STATUSES: ReadonlySet<unknown> = new Set([401, 403, 404]);
const isStatus = (status: number): status is 401 | 403 | 404 => STATUSES.has(status);

function cellOf(text: string): Cell {
  if (isStatus(Number(text))) return { status: Number(text) as 401 | 403 | 404 };
  const [, note] = /^(?:yes|`[^`]+`)(?: ([¹²³]))?$/.exec(text) ?? [];
  if (text !== 'yes' && note === undefined) throw new Error(`A cell of the table of callers says nothing: ${text}`);
  return note === undefined ? {} : { note };
}

function tableOf(api: DocumentName, text: string): Table {
  const [, ...callers] = (/^\| Operation .*\|$/m.exec(text)?.[0] ?? '')
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
  const rows = rowsOf(text).map(([operation = '', ...cells]) => {
    const [, method = '', path = ''] = /^`([A-Z]+) (\S+)`$/.exec(operation) ?? [];
    return { api, method, path, cells: new Map(callers.map((caller, at) => [caller, cellOf(cells[at] ?? '')])) };
  });
  return { api, callers, rows };
}

const [, ...sections] = (rulesOf(contract).find(({ anchor }) => anchor === 'callers')?.text ?? '').split(/^#### /m);

/** One table for each API. */
export const TABLES: readonly Table[] = DOCUMENT_NAMES.map((api, at) => tableOf(api, sections[at] ?? ''));

/** Each column of the tables. */
export const COLUMNS = TABLES.flatMap(({ api, callers, rows }) => callers.map((caller) => ({ api, caller, rows })));

export const nameOf = ({ method, path }: Pick<Row, 'method' | 'path'>): string => `${method} ${path}`;

/** @throws Error where the table has no such operation */
export function rowAt(api: DocumentName, operation: string): Row {
  const row = TABLES.find((one) => one.api === api)?.rows.find((one) => nameOf(one) === operation);
  if (!row) throw new Error(`The table of callers has no ${operation}.`);
  return row;
}

/** The outcome that the table has in one cell. @throws Error where there is none */
export function cellAt(api: DocumentName, operation: string, caller: string): Cell {
  const cell = rowAt(api, operation).cells.get(caller);
  if (!cell) throw new Error(`The table of callers has no ${caller}.`);
  return cell;
}
