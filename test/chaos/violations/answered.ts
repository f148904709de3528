import { tells, type Violation } from './violation.ts';

/** Requests are answered wrongly, or late. */
export const ANSWERED: readonly Violation[] = [
  tells('answers', 'a 500', ({ created }) => [created, { status: 500, code: '?', told: {} }]),
  tells('answers', 'a code of another operation', ({ created }) => [
    created,
    { status: 401, code: 'invalid_code', told: {} },
  ]),
  tells('answers', 'a code with the status of another', ({ created }) => [
    created,
    { status: 404, code: 'invalid_key', told: {} },
  ]),
  tells('answers', 'a 429 without Retry-After', ({ created }) => [
    created,
    { status: 429, code: 'rate_limited', retryAfter: false, told: {} },
  ]),
  tells('answers', 'a connection that a running replica cuts', ({ created }) => [
    created,
    { status: 0, code: '', failure: 'reset', told: {} },
  ]),
  tells('late', 'an answer after more than 3 s', ({ created }) => [created, { end: created.start + 3001 }]),
  tells('late', 'a request that is never answered', ({ created }) => [
    created,
    { status: 0, code: '', failure: 'timeout', end: created.start + 12_000, told: {} },
  ]),
];
