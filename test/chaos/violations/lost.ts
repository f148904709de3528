import { called, finds, later, scene, stored, storedApp, type Violation } from './violation.ts';

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
