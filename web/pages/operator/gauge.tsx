import { formatShare } from '../../text/format.ts';

const toneOf = (share: number): string => (share >= 1 ? 'bad' : share >= 0.75 ? 'warn' : 'accent');

/**
 * How full something is, as a bar with the same in numbers.
 * @param share from 0 to 1
 * @param isGood whether more is better, such as of a progress
 */
export const Gauge = ({ share, isGood = false }: { share: number; isGood?: boolean }) => (
  <span class="gauge">
    <span class="meter" aria-hidden="true">
      <span class={isGood ? 'good' : toneOf(share)} style={{ width: `${100 * Math.min(share, 1)}%` }} />
    </span>
    <span class="number">{formatShare(share)}</span>
  </span>
);
