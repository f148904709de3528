import { isOk } from '../judgement/history.ts';
import { grouped, type Checker } from './checker.ts';

/** A code enrolls one daemon: the same credential may be enrolled again, another one never. */
export const singleUse: Checker = ({ calls }, { state }) => {
  const accepted = calls.filter((call) => call.kind === 'enroll' && isOk(call));
  const byCode = grouped(accepted, ({ asked }) => asked.code);
  const twice = [...byCode].flatMap(([code, uses]) => {
    const credentials = new Set(uses.map(({ asked, told }) => asked.credential ?? told.credential));
    if (credentials.size < 2) return [];
    const at = Math.max(...uses.map(({ end }) => end));
    return [{ rule: 'single-use', at, words: `the code ${code} enrolled ${credentials.size} daemons` }];
  });
  const used = new Set(accepted.map(({ asked }) => asked.code));
  const open = [...state.apps].flatMap(([app, { openCodes }]) =>
    openCodes.filter((code) => used.has(code)).map((code) => ({ app, code })),
  );
  return [
    ...twice,
    ...open.map(({ app, code }) => ({ rule: 'single-use', words: `the used code ${code} of ${app} is still open` })),
  ];
};
