import type { ReviewEntry } from '../api/panel.ts';
import { reviews as texts } from '../text/reviews.ts';

type Severity = ReviewEntry['severity'];

/* Each has a shape of its own, so that they are told apart where colours are not. */
const SHAPES: Readonly<Record<Severity, string>> = {
  critical: 'M5 1h6l4 4v6l-4 4H5l-4-4V5z',
  high: 'M8 1.5l7 13H1z',
  medium: 'M8 1l7 7-7 7-7-7z',
  low: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z',
};

/** A severity by its word, its shape and its colour. */
export const SeverityBadge = ({ severity }: { severity: Severity }) => (
  <span class={`badge severity ${severity}`}>
    <svg class="icon" viewBox="0 0 16 16" fill="currentColor" aria-hidden="true">
      <path d={SHAPES[severity]} />
    </svg>
    {texts.severities[severity]}
  </span>
);
