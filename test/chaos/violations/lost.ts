import type { Outcome } from '../checkers/checker.ts';
import type { AccountField } from '../judgement/history.ts';
import { called, finds, later, scene, stored, storedApp, type Violation } from './violation.ts';

/** The last write of an account's record, with another end of its consent. */
function lastConsentEnds(outcome: Outcome, consentEnd: string): Outcome {
  const last = outcome.written.findLastIndex(({ accounts }) => accounts.length > 0);
  return {
    ...outcome,
    written: outcome.written.map((one, index) =>
      index === last ? { ...one, accounts: one.accounts.map((stored) => ({ ...stored, consentEnd })) } : one,
    ),
  };
}

/** The last write of an account's record, with other fields in it. */
function lastAccountAs(outcome: Outcome, fields: Partial<Record<AccountField, string>>): Outcome {
  const last = outcome.written.findLastIndex(({ accounts }) => accounts.length > 0);
  return {
    ...outcome,
    written: outcome.written.map((one, index) =>
      index === last
        ? { ...one, accounts: one.accounts.map((stored) => ({ ...stored, fields: { ...stored.fields, ...fields } })) }
        : one,
    ),
  };
}

const isOf = (requestId: string) => (one: Outcome['written'][number]) =>
  one.audits.some((entry) => entry.requestId === requestId);

const withoutRevisionOf = (outcome: Outcome, requestId: string): Outcome => ({
  ...outcome,
  written: outcome.written.filter((one) => !isOf(requestId)(one)),
});

/** What a request wrote comes as the last revision of all. */
function movedToTheEnd(outcome: Outcome, requestId: string): Outcome {
  const revision = Math.max(...outcome.written.map((one) => one.revision)) + 1;
  return {
    ...outcome,
    written: outcome.written.map((one) => (isOf(requestId)(one) ? { ...one, revision } : one)),
  };
}

/** An acknowledged write is not there, or is there again. */
export const LOST: readonly Violation[] = [
  finds('kept', 'an app that was created is gone', (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, undefined)),
  ),
  finds('kept', 'an enrolled app waits for its daemon', (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, { status: 'pending', credential: undefined })),
  ),
  finds('kept', "an enrolled app has another's credential", (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, { credential: 'another' })),
  ),
  {
    rule: 'kept',
    words: 'a revoked app is active',
    plant(model) {
      const { owner, app, credential } = scene(model);
      later(model, () => model.revoke(owner, app));
      return (history, outcome) => ({
        history,
        outcome: stored(outcome, storedApp(outcome, app, { status: 'active', credential })),
      });
    },
  },
  {
    rule: 'kept',
    words: 'a deleted app is back in the store',
    plant(model) {
      const { owner, app } = scene(model);
      const before = model.apps.get(app);
      later(model, () => model.remove(owner, app));
      return (history, outcome) => ({
        history,
        outcome: stored(outcome, {
          apps: new Map([...outcome.state.apps, ...(before ? [[app, before] as const] : [])]),
        }),
      });
    },
  },
  {
    rule: 'kept',
    words: 'an older configuration is stored',
    plant(model) {
      const { owner } = scene(model);
      for (const value of ['https://old', 'https://new']) later(model, () => model.store(owner, value));
      return (history, outcome) => ({
        history,
        outcome: stored(outcome, { endpoints: new Map([...outcome.state.endpoints, [owner.account, 'https://old']]) }),
      });
    },
  },
  {
    rule: 'kept',
    words: 'a created app is not found by a later read',
    plant(model) {
      const { owner, app } = scene(model);
      const read = later(model, () => model.read(owner, app));
      return (history, outcome) => ({ history: called(history, { ...read, status: 404, code: 'not_found' }), outcome });
    },
  },
  {
    rule: 'kept',
    words: 'a deleted app is read',
    plant(model) {
      const { owner, app } = scene(model);
      later(model, () => model.remove(owner, app));
      const read = later(model, () => model.read(owner, app));
      return (history, outcome) => ({ history: called(history, { ...read, status: 200, code: '' }), outcome });
    },
  },
  {
    rule: 'lost-update',
    words: 'a change of an account brings the older value of another field back',
    plant(model) {
      const { owner } = scene(model);
      later(model, () => model.change(owner, 'name', 'before'));
      later(model, () => model.change(owner, 'name', 'after'));
      later(model, () => model.change(owner, 'adoptableBy', 'team/heir'));
      return (history, outcome) => ({ history, outcome: lastAccountAs(outcome, { name: 'before' }) });
    },
  },
  {
    rule: 'lost-update',
    words: 'a change of an account brings the end of a former consent back',
    plant(model) {
      const { owner } = scene(model);
      later(model, () => model.change(owner, 'adoptableBy', 'team/heir'));
      later(model, () => model.change(owner, 'name', 'after'));
      return (history, outcome) => ({ history, outcome: lastConsentEnds(outcome, 'long ago') });
    },
  },
  {
    rule: 'lost-update',
    words: 'a consent has no end',
    plant(model) {
      const { owner } = scene(model);
      later(model, () => model.change(owner, 'adoptableBy', 'team/heir'));
      return (history, outcome) => ({ history, outcome: lastConsentEnds(outcome, '') });
    },
  },
  {
    rule: 'lost-update',
    words: 'an acknowledged change of an account is in no revision',
    plant(model) {
      const { owner } = scene(model);
      later(model, () => model.change(owner, 'adoptableBy', 'team/heir'));
      const lost = later(model, () => model.change(owner, 'name', 'lost'));
      return (history, outcome) => ({ history, outcome: withoutRevisionOf(outcome, lost.requestId) });
    },
  },
  {
    rule: 'lost-update',
    words: 'a daemon is enrolled after its account was disabled',
    plant(model) {
      const { owner, enrolled } = scene(model);
      later(model, () => model.disable(owner, true));
      return (history, outcome) => ({ history, outcome: movedToTheEnd(outcome, enrolled.requestId) });
    },
  },
  {
    rule: 'kept',
    words: 'a key that was made is gone',
    plant(model) {
      const { owner } = scene(model);
      later(model, () => model.addKey(owner));
      const left = { disabled: false, counters: 1, keys: new Set([owner.key]) };
      return (history, outcome) => ({
        history,
        outcome: stored(outcome, { accounts: new Map([...outcome.state.accounts, [owner.account, left]]) }),
      });
    },
  },
];
