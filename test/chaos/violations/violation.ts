import type { Outcome } from '../checkers/checker.ts';
import type { Call, History } from '../judgement/history.ts';
import type { State, StoredApp } from '../judgement/state.ts';
import type { ModelCalls } from '../model/calls.ts';
import type { ModelOwner } from '../model/operator-calls.ts';

interface Judged {
  readonly history: History;
  readonly outcome: Outcome;
}

/** One way to break a rule: a scene in a valid history, and the change that makes the history invalid. */
export interface Violation {
  readonly rule: string;
  readonly words: string;
  /** Adds a valid scene to the model's history. @returns the change that breaks the rule in that scene */
  plant(model: ModelCalls): (history: History, outcome: Outcome) => Judged;
}

const called = (history: History, ...more: readonly Call[]): History => ({
  ...history,
  calls: [...history.calls, ...more],
});

/** The same call with another answer. */
const answered = (history: History, call: Call, change: Partial<Call>): History => ({
  ...history,
  calls: history.calls.map((one) => (one === call ? { ...one, ...change } : one)),
});

const stored = (outcome: Outcome, change: Partial<State>): Outcome => ({
  ...outcome,
  state: { ...outcome.state, ...change },
});

function storedApp({ state: { apps } }: Outcome, app: string, change: Partial<StoredApp> | undefined): Partial<State> {
  const changed = new Map(apps);
  const before = apps.get(app);
  if (change === undefined) changed.delete(app);
  else if (before) changed.set(app, { ...before, ...change });
  return { apps: changed };
}

interface Scene {
  readonly owner: ModelOwner;
  readonly app: string;
  readonly code: string;
  readonly created: Call;
  readonly enrolled: Call;
  readonly credential: string;
}

/** An app whose daemon is enrolled, each step answered before the next one begins. */
function scene(model: ModelCalls): Scene {
  const owner = model.owner();
  const created = later(model, () => model.create(owner));
  const { app = '', code = '' } = created.told;
  const credential = model.id('credential');
  const enrolled = later(model, () => model.enroll(owner, app, code, credential));
  return { owner, app, code, created, enrolled, credential };
}

/** Does a step after the answers to all before it. */
function later<T>(model: ModelCalls, step: () => T): T {
  model.pass(100);
  return step();
}

const ok = { status: 200, code: '' };

/** A scene with a last call that is refused, and the history in which that call is accepted. */
const accepts = (rule: string, words: string, last: (model: ModelCalls, scene: Scene) => Call): Violation => ({
  rule,
  words,
  plant(model) {
    const call = last(model, scene(model));
    return (history, outcome) => ({ history: answered(history, call, ok), outcome });
  },
});

/** A scene, and a store that does not agree with it. */
const finds = (rule: string, words: string, change: (outcome: Outcome, scene: Scene) => Outcome): Violation => ({
  rule,
  words,
  plant(model) {
    const made = scene(model);
    return (history, outcome) => ({ history, outcome: change(outcome, made) });
  },
});

/** A scene, and a call in it that was answered otherwise. */
const tells = (rule: string, words: string, change: (scene: Scene) => readonly [Call, Partial<Call>]): Violation => ({
  rule,
  words,
  plant(model) {
    const [call, answer] = change(scene(model));
    return (history, outcome) => ({ history: answered(history, call, answer), outcome });
  },
});

export { accepts, answered, called, finds, later, scene, stored, storedApp, tells };
