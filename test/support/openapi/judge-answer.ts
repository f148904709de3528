import {
  DOCUMENT_NAMES,
  operationsOf,
  pointerPart,
  readDocument,
  type Document,
  type DocumentName,
  type Header,
} from './documents.ts';
import { Schemas } from './schemas.ts';
import { sentHeadersFault } from './sent-headers.ts';

/*
 * Every answer that the shared client of the tests gets to a documented method and path is held to the committed
 * document: status, code, body and headers. So the documents cannot lie.
 */

/** Why an answer is not in the documents, by the name that the test gives. */
const UNDOCUMENTED = {
  'another listener': 'the path is asked of a listener that does not have its API',
} as const satisfies Readonly<Record<string, string>>;
export type Undocumented = keyof typeof UNDOCUMENTED;

export interface JudgedRequest {
  readonly method: string;
  readonly url: string;
}
export interface JudgedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Headers of HTTP itself and for proxies, and those of security, which every answer has (ADR 0057): no document lists
 * them.
 */
const TRANSPORT: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'keep-alive',
  'strict-transport-security',
  'transfer-encoding',
  'vary',
  'x-accel-buffering',
  'x-content-type-options',
]);
const PREFIXES: Readonly<Record<DocumentName, string>> = {
  v1: '/v1/',
  device: '/device/v1/',
  operator: '/operator/v1/',
  panel: '/panel/v1/',
};

/**
 * Holds an answer to the document of its API.
 * @throws Error with the operation, the status and the place; never with a value, which may be a secret
 */
export function judgeAnswer({ method, url }: JudgedRequest, answer: JudgedAnswer): void {
  const { pathname } = new URL(url);
  const name = DOCUMENT_NAMES.find((api) => pathname.startsWith(PREFIXES[api]));
  if (!name) return;
  const judge = judgeOf(name);
  const found = judge.find(method, pathname);
  if (!found) return;
  const fault = faultOf(judge, found, answer);
  if (fault === undefined) return;
  throw new Error(
    `${found.operation.operationId}, ${answer.status}: ${fault}. docs/openapi/${name}.json says otherwise.`,
  );
}

type Found = ReturnType<typeof operationsOf>[number];

function faultOf(
  { api, document, schemas }: Judge,
  { path, method, operation }: Found,
  answer: JudgedAnswer,
): string | undefined {
  const documented = operation.responses[answer.status];
  if (!documented) return `the status is not documented${codeOf(answer) ? ` (${codeOf(answer)})` : ''}`;
  const place = `/paths/${pointerPart(path)}/${method}/responses/${answer.status}`;
  return (
    codeFault(documented['x-error-codes'], answer) ??
    headersFault(document, schemas, { place, headers: documented.headers ?? {}, answer }) ??
    sentHeadersFault({ api, status: answer.status, headers: answer.headers, documented: documented.headers ?? {} }) ??
    bodyFault(schemas, { place, types: Object.keys(documented.content ?? {}), answer })
  );
}

function codeFault(codes: readonly string[] | undefined, answer: JudgedAnswer): string | undefined {
  if (!codes) return undefined;
  const code = codeOf(answer);
  return code !== undefined && codes.includes(code) ? undefined : `its code is not documented (${code ?? 'none'})`;
}

/** The code of an error, where it looks like one. */
function codeOf({ text }: JudgedAnswer): string | undefined {
  return /^\{"error":\{"code":"([a-z_]{1,40})"/.exec(text)?.[1];
}

interface Place {
  readonly place: string;
  readonly answer: JudgedAnswer;
}

function headersFault(
  document: Document,
  schemas: Schemas,
  { place, headers, answer }: Place & { readonly headers: Readonly<Record<string, Header>> },
): string | undefined {
  for (const [header, { $ref, ...inline }] of Object.entries(headers)) {
    const { schema } = $ref === undefined ? inline : (document.components.headers[header] ?? {});
    const value = answer.headers.get(header);
    if (value === null) continue;
    const pointer = $ref === undefined ? `${place}/headers/${header}` : `/components/headers/${header}`;
    const fault = schemas.faultOf(`${pointer}/schema`, schema?.type === 'integer' ? Number(value) : value);
    if (fault !== undefined) return `the header ${header}: ${fault}`;
  }
  const documented = new Set(Object.keys(headers).map((header) => header.toLowerCase()));
  const further = [...answer.headers.keys()].filter((header) => !documented.has(header) && !TRANSPORT.has(header));
  return further.length === 0 ? undefined : `headers that are not documented: ${further.join(', ')}`;
}

function bodyFault(
  schemas: Schemas,
  { place, types, answer }: Place & { readonly types: readonly string[] },
): string | undefined {
  if (types.length === 0) return answer.text === '' ? undefined : 'a body, where none is documented';
  const type = answer.headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  if (!types.includes(type)) return `the media type ${JSON.stringify(type)} is not documented`;
  const body = type === 'application/json' ? parsed(answer.text) : answer.text;
  if (body === undefined) return 'the body is no JSON';
  return schemas.faultOf(`${place}/content/${pointerPart(type)}/schema`, body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Judge {
  readonly api: DocumentName;
  readonly document: Document;
  readonly schemas: Schemas;
  readonly find: (method: string, pathname: string) => Found | undefined;
}

const judges = new Map<DocumentName, Judge>();

/** What an API is judged by: read at its first answer, since most files ask one API alone. */
function judgeOf(name: DocumentName): Judge {
  let judge = judges.get(name);
  if (!judge) {
    const document = readDocument(name);
    judge = { api: name, document, schemas: new Schemas(document, 'closed'), find: finder(document) };
    judges.set(name, judge);
  }
  return judge;
}

/** Finds the operation of a request. A part of a template fits any part of a path, and its own text goes first. */
function finder(document: Document): Judge['find'] {
  const rows = operationsOf(document).map((found) => ({
    found,
    pattern: new RegExp(`^${found.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
  rows.sort((one, other) => one.found.path.split('{').length - other.found.path.split('{').length);
  return (method, pathname) =>
    rows.find(({ found, pattern }) => found.method === method.toLowerCase() && pattern.test(pathname))?.found;
}
