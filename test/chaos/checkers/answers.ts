import { ERRORS, type ErrorCode } from '../../../src/api/http/errors.ts';
import type { Call, History, Kind } from '../judgement/history.ts';
import { named, type Checker } from './checker.ts';

const ALWAYS_V1 = ['invalid_key', 'account_disabled', 'rate_limited', 'upstream_unavailable'] as const;
const PERSON = [
  'invalid_session',
  'invalid_token',
  'forbidden',
  'not_found',
  'rate_limited',
  'overloaded',
  'upstream_unavailable',
] as const;
const OPERATOR = ['not_found', 'upstream_unavailable'] as const;

/** Section 4 of the specification, and the device and operator planes: what each operation may answer. */
const MAY: Readonly<Record<Kind, { readonly ok: readonly number[]; readonly refuse: readonly ErrorCode[] }>> = {
  'app.create': { ok: [201], refuse: [...ALWAYS_V1, 'limit_reached', 'forbidden'] },
  'app.list': { ok: [200], refuse: ALWAYS_V1 },
  'app.read': { ok: [200], refuse: [...ALWAYS_V1, 'not_found'] },
  'app.revoke': { ok: [200], refuse: [...ALWAYS_V1, 'not_found'] },
  'app.delete': { ok: [204], refuse: [...ALWAYS_V1, 'not_found'] },
  'code.issue': { ok: [201], refuse: [...ALWAYS_V1, 'not_found'] },
  'otel.read': { ok: [200], refuse: [...ALWAYS_V1, 'enterprise_required'] },
  'otel.write': { ok: [200], refuse: [...ALWAYS_V1, 'enterprise_required'] },
  'otel.purge': { ok: [200], refuse: ALWAYS_V1 },
  enroll: { ok: [200], refuse: ['invalid_code', 'account_disabled', 'upstream_unavailable', 'overloaded'] },
  poll: {
    ok: [200, 304],
    refuse: ['invalid_credential', 'account_disabled', 'rate_limited', 'upstream_unavailable', 'overloaded'],
  },
  'account.create': { ok: [201], refuse: OPERATOR },
  'account.disable': { ok: [200], refuse: OPERATOR },
  'account.enable': { ok: [200], refuse: OPERATOR },
  'account.change': { ok: [200], refuse: OPERATOR },
  'key.create': { ok: [201], refuse: OPERATOR },
  'key.narrow': { ok: [200], refuse: OPERATOR },
  'key.rotate': { ok: [201], refuse: OPERATOR },
  'key.revoke': { ok: [204], refuse: OPERATOR },
  'token.create': { ok: [201], refuse: PERSON },
  'token.revoke': { ok: [204], refuse: PERSON },
  'person.read': { ok: [200], refuse: PERSON },
  'person.write': { ok: [200, 201], refuse: PERSON },
  'person.disable': { ok: [200], refuse: OPERATOR },
  'role.take': { ok: [200], refuse: OPERATOR },
};

const WAITS: ReadonlySet<number> = new Set([429, 502, 503]);

/**
 * Every answer is documented, with its status, its body and its `Retry-After`; only a replica that is down gives none.
 */
export const answers: Checker = (history) =>
  history.calls.flatMap((call) => {
    const words = call.status === 0 ? silence(history, call) : refused(call);
    return words === undefined ? [] : [{ rule: 'answers', at: call.end, words: `${named(call)} ${words}` }];
  });

function silence({ marks }: History, { replica, start, end, failure }: Call): string | undefined {
  // The checker `late` judges requests without an answer in time.
  if (failure === 'timeout') return undefined;
  const isDown = marks.some(
    (mark) => mark.what === 'down' && mark.replica === replica && mark.from <= end && mark.until >= start,
  );
  return isDown ? undefined : `was cut off (${failure}) by a replica that ran`;
}

function refused({ kind, status, code, retryAfter }: Call): string | undefined {
  const { ok, refuse } = MAY[kind];
  if (ok.includes(status)) return undefined;
  const row = refuse.find((known) => known === code);
  if (row === undefined || ERRORS[row].status !== status)
    return `was answered ${status} '${code}', which is not in the table`;
  return WAITS.has(status) && !retryAfter ? `was answered ${status} without Retry-After` : undefined;
}
