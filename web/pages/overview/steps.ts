import type { FleetHistory } from '../../api/panel.ts';

/** A step of the range; without counts where nothing was counted. */
export interface Step {
  /** The beginning and the end, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly counts: Pick<FleetHistory['points'][number], 'active' | 'silent' | 'failed'> | undefined;
}

/** The share of the range that may be empty before its first count; more than that is left out. */
const EMPTY_SHARE = 0.4;

/**
 * The steps of the range in order. The last one goes on, and may be counted yet: without a count it is left out. So is
 * the time before the first count where that is most of the range, as on the first day of an account.
 */
export function stepsOf({ from, to, stepSeconds, points }: FleetHistory): readonly Step[] {
  const [begin, stepMs] = [Date.parse(from), stepSeconds * 1000];
  const counted = new Map(points.map((point) => [Date.parse(point.at), point]));
  const steps = Array.from({ length: Math.round((Date.parse(to) - begin) / stepMs) }, (_, index): Step => {
    const at = begin + index * stepMs;
    return { from: at, to: at + stepMs, counts: counted.get(at) };
  });
  const ended = steps.at(-1)?.counts ? steps : steps.slice(0, -1);
  const first = ended.findIndex(({ counts }) => counts);
  return first > ended.length * EMPTY_SHARE ? ended.slice(first) : ended;
}
