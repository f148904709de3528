import { accepts, called, finds, later, scene, stored, storedApp, tells, type Violation } from './violation.ts';

const overLimit = (admitted: number, withinMs: number): Violation => ({
  rule: 'rate-window',
  words: `${admitted} requests admitted within ${withinMs} ms`,
  commit(ideal) {
    const { owner } = scene(ideal);
    const read = later(ideal, () => ideal.list(owner));
    const instants = (count: number): number[] =>
      Array.from({ length: count }, (_, n) => 70_000 + (n * (withinMs - 10)) / (count - 1));
    const crowd = (count: number) => instants(count).map((at) => ({ ...read, start: at, end: at + 5 }));
    // Up to the limit is the neighbour: the list itself is long over by then.
    ideal.calls.push(...crowd(600));
    const more = crowd(admitted).slice(600);
    return (history, outcome) => ({ history: called(history, ...more), outcome });
  },
});

const refusedAfter = (admitted: number): Violation => ({
  rule: 'early-refusal',
  words: `refused after ${admitted} requests in 62.5 s`,
  commit(ideal) {
    const { owner } = scene(ideal);
    const read = later(ideal, () => ideal.list(owner));
    const crowd = Array.from({ length: 600 }, (_, n) => ({
      ...read,
      start: 200_000 + n * 100,
      end: 200_005 + n * 100,
    }));
    const refused = {
      ...read,
      taints: [],
      start: 260_100,
      end: 260_110,
      status: 429,
      code: 'rate_limited',
      retryAfter: true,
    };
    // After 600 it is validHistory, and so it is after fewer where a fault may have taken units along.
    const foreign = { ...refused, asked: { ...refused.asked, account: 'another' }, start: 400_000, end: 400_010 };
    ideal.calls.push(...crowd, refused, foreign);
    ideal.marks.push({ what: 'fault', name: 'a-fault', from: 305_000, until: 306_100 });
    return (history, outcome) => {
      const early = new Set<unknown>(crowd.slice(admitted));
      return { history: { ...history, calls: history.calls.filter((call) => !early.has(call)) }, outcome };
    };
  },
});

/** Who is let in that must not be. */
export const ADMITTED: readonly Violation[] = [
  accepts('single-use', 'a used code enrolls another daemon', (ideal, { owner, app, code }) =>
    later(ideal, () => ideal.enroll(owner, app, code, ideal.id('credential'))),
  ),
  finds('single-use', 'a used code is open in the store', (outcome, { app, code }) =>
    stored(outcome, storedApp(outcome, app, { openCodes: [code] })),
  ),
  accepts('revocation', 'a revoked credential polls', (ideal, { owner, app, credential }) => {
    later(ideal, () => ideal.revoke(owner, app));
    return later(ideal, () => ideal.poll(owner, app, credential));
  }),
  accepts('revocation', 'the credential of a deleted app polls', (ideal, { owner, app, credential }) => {
    later(ideal, () => ideal.remove(owner, app));
    return later(ideal, () => ideal.poll(owner, app, credential));
  }),
  accepts('revocation', 'a credential that was replaced polls', (ideal, { owner, app, credential }) => {
    const { code = '' } = later(ideal, () => ideal.issue(owner, app)).told;
    later(ideal, () => ideal.enroll(owner, app, code, ideal.id('credential')));
    return later(ideal, () => ideal.poll(owner, app, credential));
  }),
  accepts('revocation', 'a revoked key lists', (ideal, { owner }) => {
    const key = later(ideal, () => ideal.addKey(owner)).told.target ?? '';
    later(ideal, () => ideal.revokeKey(owner, key));
    return later(ideal, () => ideal.list({ ...owner, key }));
  }),
  accepts('revocation', 'a disabled account lists', (ideal, { owner }) => {
    later(ideal, () => ideal.disable(owner, true));
    return later(ideal, () => ideal.list(owner));
  }),
  accepts('revocation', 'a daemon of a disabled account polls', (ideal, { owner, app, credential }) => {
    later(ideal, () => ideal.disable(owner, true));
    return later(ideal, () => ideal.poll(owner, app, credential));
  }),
  overLimit(601, 60_000),
  overLimit(900, 45_000),
  refusedAfter(599),
  refusedAfter(0),
  tells('cap', 'a list of 1001', ({ created, owner }) => [
    created,
    { kind: 'app.list', asked: owner, told: { count: 1001 } },
  ]),
  finds('cap', 'a counters that counts one too few', (outcome, { owner }) => {
    const accounts = new Map(outcome.state.accounts);
    accounts.set(owner.account, { disabled: false, counters: 0, keys: new Set([owner.key]) });
    return stored(outcome, { accounts });
  }),
  tells('isolation', "another account's marker in an answer", ({ enrolled }) => [
    enrolled,
    { taints: ['taint-of-another'] },
  ]),
  {
    rule: 'isolation',
    words: "another account's app is read",
    commit(ideal) {
      const { app } = scene(ideal);
      const call = later(ideal, () => ideal.read(scene(ideal).owner, app));
      return (history, outcome) => ({ history: called(history, { ...call, status: 200, code: '' }), outcome });
    },
  },
];
