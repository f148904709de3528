import type { GenericRequest } from '#client';
import { SECRET_FIELDS } from '../../../api/contract/secret-fields.ts';
import { operatorOf, ownerOf } from '../../connection/clients.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import { inputOf, valueIn } from '../../terminal/input.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/* `muster api METHOD PATH`: any request of `/v1` and `/operator/v1`, with the address and the secret of the others. */

export interface ApiOptions {
  /** Each `name=value`. */
  readonly field: readonly string[];
  readonly rawField: readonly string[];
  readonly input?: string;
  readonly idempotencyKey?: string;
}

/** Above what the service takes. */
const INPUT_BYTES_MAX = 1_048_576;
/** Their parameters are part of the address. */
const BY_QUERY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

/** @throws CommandFault, ConfigError, MusterError */
export async function callApi(call: Invocation, verb: string, path: string, options: ApiOptions): Promise<void> {
  const method = verb.toUpperCase();
  const client = clientOf(call, path);
  const { idempotencyKey } = options;
  const request = { method, path, ...(await contentOf(method, options)) };
  // The answer of a create has a secret that no other answer shows.
  if (method !== 'GET') requireWholeStdout();
  const { body } = await client.request(request, { requestId: call.globals.requestId, idempotencyKey });
  if (method !== 'GET') requireWholeStdout(carriedOut(method, body));
  if (body === undefined) return;
  if (typeof body === 'string') await call.terminal.stdout.write(body.endsWith('\n') ? body : `${body}\n`);
  else await printOne({ ...call, globals: { ...call.globals, output: 'json' } }, { columns: [], item: body });
}

/** A thing that is made, and whose answer nobody sees, is found again by its ids. */
function carriedOut(method: string, body: unknown): string {
  const fields = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  // Anybody may have answered: what is no id could pretend to be words of the command.
  const isId = (text: unknown): boolean => typeof text === 'string' && /^[\w-]{1,64}$/.test(text);
  const ids = fields.filter(([name, value]) => name.endsWith('Id') && isId(name) && isId(value));
  return `The ${method} is carried out${ids.map(([name, value]) => `, ${name} ${String(value)}`).join('')}.`;
}

function clientOf(call: Invocation, path: string) {
  const [plain = ''] = path.split(/[?#]/);
  if (/^\/operator\/v1\/backup\/*$/.test(plain)) {
    throw new CommandFault('A backup is a file: `muster backup create` writes and checks it.', EXIT.usage);
  }
  if (/^\/v1(?:\/|$)/.test(plain)) return ownerOf(call);
  if (/^\/operator\/v1(?:\/|$)/.test(plain)) return operatorOf(call);
  throw new CommandFault('The path begins with /v1 or /operator/v1, as in /v1/apps.', EXIT.usage);
}

async function contentOf(method: string, options: ApiOptions): Promise<Pick<GenericRequest, 'body' | 'query'>> {
  const { input, field, rawField } = options;
  const fields = await fieldsOf(field, rawField);
  if (input === undefined) {
    if (fields.size === 0) return {};
    if (!BY_QUERY.has(method)) return { body: Object.fromEntries(fields) };
    return { query: Object.fromEntries([...fields].map(([name, value]) => [name, String(value)])) };
  }
  if (fields.size > 0) throw new CommandFault('Give the body by --input or by fields, not by both.', EXIT.usage);
  if (method === 'GET' || method === 'HEAD') throw new CommandFault(`${method} takes no body.`, EXIT.usage);
  const what = input === '-' ? 'stdin' : input;
  return { body: objectIn(await inputOf(input, INPUT_BYTES_MAX), what) };
}

function objectIn(text: string, what: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new CommandFault(`${what}: it must be a JSON object`, EXIT.usage);
}

type Value = string | number | boolean | null;

async function fieldsOf(typed: readonly string[], raw: readonly string[]): Promise<ReadonlyMap<string, Value>> {
  const fields = new Map<string, Value>();
  const put = (name: string, value: Value): void => {
    if (fields.has(name)) throw new CommandFault(`The field ${name} is given twice.`, EXIT.usage);
    fields.set(name, value);
  };
  for (const text of typed) {
    const [name, value] = pairOf(text);
    if (value.startsWith('@')) put(name, await valueIn(value.slice(1), INPUT_BYTES_MAX));
    else put(name, typedValue(exposable(name, value)));
  }
  for (const text of raw) {
    const [name, value] = pairOf(text);
    put(name, exposable(name, value));
  }
  return fields;
}

/** @throws CommandFault that does not repeat the value */
function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new CommandFault('A field is name=value.', EXIT.usage);
}

function exposable(name: string, value: string): string {
  // An empty text deletes the stored header, and is no secret.
  if (!SECRET_FIELDS.has(name) || value === '') return value;
  throw new CommandFault(
    `${name} is a secret, and others can read arguments: give it as --field ${name}=@FILE, and replace what you have typed.`,
    EXIT.usage,
  );
}

const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/** A number, true, false or null as JSON has them; all else is text, and so is a number that would be rounded. */
function typedValue(text: string): Value {
  if (Object.hasOwn(WORDS, text)) return WORDS[text] ?? null;
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
  const number = Number(text);
  const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : text;
}
