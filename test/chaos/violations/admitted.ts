import {
  accepts,
  answered,
  called,
  finds,
  later,
  scene,
  stored,
  storedApp,
  tells,
  type Violation,
} from './violation.ts';

const overLimit = (admitted: number, withinMs: number): Violation => ({
  rule: 'rate-window',
  words: `${admitted} requests admitted within ${withinMs} ms`,
  plant(model) {
    const { owner } = scene(model);
    const read = later(model, () => model.list(owner));
    const instants = (count: number): number[] =>
      Array.from({ length: count }, (_, n) => 70_000 + (n * (withinMs - 10)) / (count - 1));
    const crowd = (count: number) => instants(count).map((at) => ({ ...read, start: at, end: at + 5 }));
    // A number of requests that the limit admits breaks no rule: the list itself is long over by then.
    model.calls.push(...crowd(600));
    const more = crowd(admitted).slice(600);
    return (history, outcome) => ({ history: called(history, ...more), outcome });
  },
});

const refusedAfter = (admitted: number): Violation => ({
  rule: 'early-refusal',
  words: `refused after ${admitted} requests in 62.5 s`,
  plant(model) {
    const { owner } = scene(model);
    const read = later(model, () => model.list(owner));
    const crowd = Array.from({ length: 600 }, (_, n) => ({
      ...read,
      start: 200_000 + n * 100,
      end: 200_005 + n * 100,
    }));
    const refused = {
      ...read,
      markers: [],
      start: 260_100,
      end: 260_110,
      status: 429,
      code: 'rate_limited',
      retryAfter: true,
    };
    // A refusal after 600 requests is valid, and so is one after fewer where a fault may have taken units along.
    const foreign = { ...refused, asked: { ...refused.asked, account: 'another' }, start: 400_000, end: 400_010 };
    model.calls.push(...crowd, refused, foreign);
    model.marks.push({ what: 'fault', name: 'a-fault', from: 305_000, until: 306_100 });
    return (history, outcome) => {
      const early = new Set<unknown>(crowd.slice(admitted));
      return { history: { ...history, calls: history.calls.filter((call) => !early.has(call)) }, outcome };
    };
  },
});

/** Requests are admitted that must not be. */
export const ADMITTED: readonly Violation[] = [
  accepts('single-use', 'a used code enrolls another daemon', (model, { owner, app, code }) =>
    later(model, () => model.enroll(owner, app, code, model.id('credential'))),
  ),
  finds('single-use', 'a used code is open in the store', (outcome, { app, code }) =>
    stored(outcome, storedApp(outcome, app, { openCodes: [code] })),
  ),
  accepts('revocation', 'a revoked credential polls', (model, { owner, app, credential }) => {
    later(model, () => model.revoke(owner, app));
    return later(model, () => model.poll(owner, app, credential));
  }),
  accepts('revocation', 'the credential of a deleted app polls', (model, { owner, app, credential }) => {
    later(model, () => model.remove(owner, app));
    return later(model, () => model.poll(owner, app, credential));
  }),
  accepts('revocation', 'a credential that was replaced polls', (model, { owner, app, credential }) => {
    const { code = '' } = later(model, () => model.issue(owner, app)).told;
    later(model, () => model.enroll(owner, app, code, model.id('credential')));
    return later(model, () => model.poll(owner, app, credential));
  }),
  accepts('revocation', 'a revoked key lists', (model, { owner }) => {
    const key = later(model, () => model.addKey(owner)).told.target ?? '';
    later(model, () => model.revokeKey(owner, key));
    return later(model, () => model.list({ ...owner, key }));
  }),
  accepts('revocation', 'a secret that was rotated away lists', (model, { owner }) => {
    const key = later(model, () => model.addKey(owner)).told.target ?? '';
    later(model, () => model.rotateKey(owner, key));
    return later(model, () => model.list({ ...owner, key }));
  }),
  accepts('revocation', 'the later secret of a revoked key lists', (model, { owner }) => {
    const key = later(model, () => model.addKey(owner)).told.target ?? '';
    later(model, () => model.rotateKey(owner, key));
    later(model, () => model.revokeKey(owner, key));
    return later(model, () => model.list({ ...owner, key: `${key}+1` }));
  }),
  accepts('revocation', 'a revoked access token reads', (model, { owner }) => {
    const ann = model.newPerson();
    const bearer = later(model, () => model.makeToken(ann, owner)).told.target ?? '';
    later(model, () => model.revokeToken(ann, owner, bearer));
    return later(model, () => model.readBy({ ...ann, bearer }, owner));
  }),
  ...(['person.disable', 'role.take'] as const).flatMap((end) =>
    ['session', 'token'].map((by) =>
      accepts('revocation', `a ${by} changes an account after ${end}`, (model, { owner }) => {
        const ann = model.newPerson();
        const bearer = later(model, () => model.makeToken(ann, owner)).told.target ?? '';
        later(model, () => model.endPerson(ann, end));
        return later(model, () => model.writeBy(by === 'token' ? { ...ann, bearer } : ann, owner));
      }),
    ),
  ),
  ...['', '+1'].map((secret) =>
    accepts('narrowed', `a narrowed key creates an app with its secret ${secret}`, (model, { owner }) => {
      const key = later(model, () => model.addKey(owner)).told.target ?? '';
      later(model, () => model.narrowKey(owner, key));
      return later(model, () => model.create({ ...owner, key: `${key}${secret}` }));
    }),
  ),
  tells('narrowed', 'a key that nobody narrowed is forbidden a change', ({ created }) => [
    created,
    { status: 403, code: 'forbidden' },
  ]),
  {
    rule: 'narrowed',
    words: 'a narrowed key is forbidden a read',
    plant(model) {
      const { owner } = scene(model);
      const key = later(model, () => model.addKey(owner)).told.target ?? '';
      later(model, () => model.narrowKey(owner, key));
      const list = later(model, () => model.list({ ...owner, key }));
      return (history, outcome) => ({
        history: answered(history, list, { status: 403, code: 'forbidden' }),
        outcome,
      });
    },
  },
  accepts('revocation', 'a disabled account lists', (model, { owner }) => {
    later(model, () => model.disable(owner, true));
    return later(model, () => model.list(owner));
  }),
  accepts('revocation', 'a daemon of a disabled account polls', (model, { owner, app, credential }) => {
    later(model, () => model.disable(owner, true));
    return later(model, () => model.poll(owner, app, credential));
  }),
  overLimit(601, 60_000),
  overLimit(900, 45_000),
  refusedAfter(599),
  refusedAfter(0),
  tells('cap', 'a list of 1001', ({ created, owner }) => [
    created,
    { kind: 'app.list', asked: owner, told: { count: 1001 } },
  ]),
  finds('cap', 'counters that count one app too few', (outcome, { owner }) => {
    const accounts = new Map(outcome.state.accounts);
    accounts.set(owner.account, { disabled: false, counters: 0, keys: new Set([owner.key]) });
    return stored(outcome, { accounts });
  }),
  tells('isolation', "another account's marker in an answer", ({ enrolled }) => [
    enrolled,
    { markers: ['marker-of-another'] },
  ]),
  {
    rule: 'isolation',
    words: "another account's app is read",
    plant(model) {
      const { app } = scene(model);
      const call = later(model, () => model.read(scene(model).owner, app));
      return (history, outcome) => ({ history: called(history, { ...call, status: 200, code: '' }), outcome });
    },
  },
];
