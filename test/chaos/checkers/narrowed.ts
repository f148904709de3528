import { isOk, isWrite, keyIdOf, type Call } from '../judgement/history.ts';
import { grouped, named, type Checker } from './checker.ts';

/*
 * H23: once the narrowing of a key to `read` is answered, no change by it that starts later is accepted, by any replica
 * and with either of its secrets. Reads, and keys that nobody has begun to narrow, are never refused for their access.
 */

const rule = 'narrowed';
const isForbidden = ({ status, code }: Call): boolean => status === 403 && code === 'forbidden';

export const narrowed: Checker = ({ calls }) => {
  const byKey = grouped(
    calls.filter(({ kind }) => kind === 'key.narrow'),
    ({ asked }) => asked.target,
  );
  return calls.flatMap((call) => {
    const { asked, start, end, status } = call;
    if (asked.key === undefined) return [];
    const ofKey = byKey.get(keyIdOf(asked.key)) ?? [];
    const done = ofKey.find((narrowing) => isOk(narrowing) && narrowing.end < start);
    if (done && isWrite(call) && isOk(call)) {
      const words = `${named(call)} was answered ${status}, ${Math.round(start - done.end)} ms after ${named(done)} was`;
      return [{ rule, at: start, words }];
    }
    const mayBe = isWrite(call) && ofKey.some((narrowing) => narrowing.start < end);
    return isForbidden(call) && !mayBe ? [{ rule, at: end, words: `${named(call)} was forbidden, wrongly` }] : [];
  });
};
