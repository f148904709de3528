import { finds, stored, storedApp, type Violation } from './violation.ts';

/** A mutation is written in halves, or without an audit entry. */
export const RECORDED: readonly Violation[] = [
  finds('audit', 'the entry of an acknowledged create is missing', (outcome, { created }) =>
    stored(outcome, { audits: outcome.state.audits.filter(({ requestId }) => requestId !== created.requestId) }),
  ),
  finds('audit', 'a mutation has two entries', (outcome, { enrolled }) => {
    const again = outcome.state.audits.filter(({ requestId }) => requestId === enrolled.requestId);
    return stored(outcome, { audits: [...outcome.state.audits, ...again] });
  }),
  finds('audit', 'the entry comes in a later revision', (outcome) => {
    const [last, ...before] = outcome.written.toReversed();
    if (!last) throw new Error('nothing was written');
    const apart = [
      { ...last, audits: [] },
      { ...last, revision: last.revision + 1, touched: [] },
    ];
    return { ...outcome, written: [...before.toReversed(), ...apart] };
  }),
  finds('audit', "an app changes under another app's entry", (outcome, { owner }) => {
    const last = outcome.written.at(-1);
    if (!last) throw new Error('nothing was written');
    return {
      ...outcome,
      written: [...outcome.written, { ...last, touched: [...last.touched, `d/a/${owner.account}/app/other`] }],
    };
  }),
  finds('half-written', 'counters without their app', (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, undefined)),
  ),
  finds('half-written', 'an active app without a credential', (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, { credential: undefined })),
  ),
  finds('half-written', 'a credential that leads elsewhere', (outcome, { credential }) =>
    stored(outcome, { credentials: new Map([...outcome.state.credentials, [credential, 'another']]) }),
  ),
  finds('half-written', 'a revoked app without an entry', (outcome, { app }) =>
    stored(outcome, storedApp(outcome, app, { status: 'revoked', credential: undefined })),
  ),
];
