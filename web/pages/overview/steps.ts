import type { FleetHistory } from '../../api/panel.ts';

/** A step of the range; without counts where nothing was counted. */
export interface Step {
  /** The beginning and the end, in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly counts: Pick<FleetHistory['points'][number], 'active' | 'silent' | 'failed'> | undefined;
}

/** Every step of the range in order. The last one goes on, and may be counted yet: without a count it is left out. */
export function stepsOf({ from, to, stepSeconds, points }: FleetHistory): readonly Step[] {
  const [begin, stepMs] = [Date.parse(from), stepSeconds * 1000];
  const counted = new Map(points.map((point) => [Date.parse(point.at), point]));
  const steps = Array.from({ length: Math.round((Date.parse(to) - begin) / stepMs) }, (_, index): Step => {
    const at = begin + index * stepMs;
    return { from: at, to: at + stepMs, counts: counted.get(at) };
  });
  return steps.at(-1)?.counts ? steps : steps.slice(0, -1);
}
