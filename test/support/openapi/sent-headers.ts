import type { DocumentName, Header } from './documents.ts';

/*
 * The headers that the service sends, and in which form. No document promises them, since a proxy may drop or change
 * them; what the service itself sends is held by this table.
 */

interface Answered {
  readonly api: DocumentName;
  readonly status: number;
  readonly headers: Headers;
  /** Those that the document has of this answer. */
  readonly documented: Readonly<Record<string, Header>>;
}

interface Sent {
  readonly form: RegExp;
  /** Whether such an answer always has it. */
  readonly always: (answered: Answered) => boolean;
}

const isWhere =
  (...statuses: readonly number[]) =>
  ({ status }: Answered): boolean =>
    statuses.includes(status);
const isCharged = ({ api, status }: Answered): boolean => api === 'v1' && status !== 401 && status !== 502;
const isDocumented =
  (name: string) =>
  ({ documented }: Answered): boolean =>
    name in documented;

/** By the name of the header. */
const SENT: Readonly<Record<string, Sent>> = {
  'Cache-Control': { form: /^no-store, no-transform$/, always: () => true },
  'X-Request-Id': { form: /^[A-Za-z0-9._-]{1,128}$/, always: () => true },
  RateLimit: { form: /^"account";r=\d+;t=\d+$/, always: isCharged },
  'RateLimit-Policy': { form: /^"account";q=600;w=60$/, always: isCharged },
  'Retry-After': { form: /^[1-9]\d*$/, always: isWhere(429, 502, 503) },
  'WWW-Authenticate': { form: /^Bearer$/, always: ({ api, status }) => status === 401 && api !== 'panel' },
  ETag: { form: /^"[^"]+"$/, always: isDocumented('ETag') },
  'Muster-Usage-Complete': { form: /^(?:true|false)$/, always: isDocumented('Muster-Usage-Complete') },
  'Idempotency-Replayed': { form: /^true$/, always: () => false },
};

/** Every read of the panel has a weak tag, but for what is made as it is taken. */
const SENT_BY_PANEL: Readonly<Record<string, Sent>> = {
  ...SENT,
  ETag: {
    form: /^W\/"[0-9a-f]{32}"$/,
    always: (answered) => isDocumented('ETag')(answered) && !answered.headers.has('transfer-encoding'),
  },
};

/** What is wrong with the headers of an answer, without a value; undefined where nothing is. */
export function sentHeadersFault(answered: Answered): string | undefined {
  const sent = answered.api === 'panel' ? SENT_BY_PANEL : SENT;
  for (const [name, { form, always }] of Object.entries(sent)) {
    const value = answered.headers.get(name);
    if (value === null && always(answered)) return `the header ${name} is missing`;
    if (value !== null && !form.test(value)) return `the header ${name} has another form`;
  }
  return undefined;
}
