import type { Outcome } from '../checkers/checker.ts';
import type { Call, History } from '../judgement/history.ts';
import type { State, StoredApp } from '../judgement/state.ts';
import type { IdealCalls } from '../model/calls.ts';
import type { IdealOwner } from '../model/operator-calls.ts';

export interface Judged {
  readonly history: History;
  readonly outcome: Outcome;
}

/** One way to break a rule: a validHistory scene, and what in it is then changed so that it is validHistory no more. */
export interface Violation {
  readonly rule: string;
  readonly words: string;
  commit(ideal: IdealCalls): (history: History, outcome: Outcome) => Judged;
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
  readonly owner: IdealOwner;
  readonly app: string;
  readonly code: string;
  readonly created: Call;
  readonly enrolled: Call;
  readonly credential: string;
}

/** An app whose daemon is enrolled, each step answered before the next one begins. */
function scene(ideal: IdealCalls): Scene {
  const owner = ideal.owner();
  const created = later(ideal, () => ideal.create(owner));
  const { app = '', code = '' } = created.told;
  const credential = ideal.id('credential');
  const enrolled = later(ideal, () => ideal.enroll(owner, app, code, credential));
  return { owner, app, code, created, enrolled, credential };
}

/** After the answers to all before it. */
function later<T>(ideal: IdealCalls, step: () => T): T {
  ideal.pass(100);
  return step();
}

const ok = { status: 200, code: '' };

/** A scene, a last call in it that is refused, and the history in which it is not. */
const accepts = (rule: string, words: string, last: (ideal: IdealCalls, scene: Scene) => Call): Violation => ({
  rule,
  words,
  commit(ideal) {
    const call = last(ideal, scene(ideal));
    return (history, outcome) => ({ history: answered(history, call, ok), outcome });
  },
});

/** A scene, and the store that does not agree with it. */
const finds = (rule: string, words: string, change: (outcome: Outcome, scene: Scene) => Outcome): Violation => ({
  rule,
  words,
  commit(ideal) {
    const made = scene(ideal);
    return (history, outcome) => ({ history, outcome: change(outcome, made) });
  },
});

/** A scene, and a call in it that was answered otherwise. */
const tells = (rule: string, words: string, change: (scene: Scene) => readonly [Call, Partial<Call>]): Violation => ({
  rule,
  words,
  commit(ideal) {
    const [call, answer] = change(scene(ideal));
    return (history, outcome) => ({ history: answered(history, call, answer), outcome });
  },
});

export { accepts, answered, called, finds, later, ok, scene, stored, storedApp, tells, type Scene };
