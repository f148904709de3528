import { named, type Checker } from './checker.ts';

/**
 * An account's names, addresses and headers bear its marker: nobody else ever sees it. An app of another account does
 * not exist (section 5.5).
 */
export const isolation: Checker = ({ calls, markerOf }) => {
  const ownerOf = new Map(
    calls.flatMap(({ kind, asked, told }) =>
      kind === 'app.create' && told.app !== undefined && asked.account !== undefined
        ? [[told.app, asked.account] as const]
        : [],
    ),
  );
  return calls.flatMap((call) => {
    const { asked, markers, end, status } = call;
    const own = markerOf.get(asked.account ?? call.told.account ?? '');
    const foreign = markers.filter((marker) => marker !== own);
    if (foreign.length > 0) {
      return [{ rule: 'isolation', at: end, words: `${named(call)} of ${asked.account} saw ${foreign.join(', ')}` }];
    }
    const owner = ownerOf.get(asked.app ?? '');
    const isForeign = asked.key !== undefined && owner !== undefined && owner !== asked.account;
    if (!isForeign || ![200, 201, 204].includes(status)) return [];
    return [{ rule: 'isolation', at: end, words: `${named(call)} reached ${asked.app}, an app of ${owner}` }];
  });
};
