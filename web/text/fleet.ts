import { formatCount, formatInstant, formatSpan } from './format.ts';

/* Texts of the fleet over time, on the overview. */

export const fleet = {
  title: 'Fleet over time',
  range: 'Time range',
  ranges: { '24h': '24 hours', '7d': '7 days', '90d': '90 days' },
  series: { active: 'Active', silent: 'Silent', failed: 'Failed' },
  definition:
    'Silent daemons are active ones without a contact for longer than three polls; failed ones could not apply the ' +
    'configuration.',
  worst: 'Each point is for six hours: the fewest active daemons, the most silent and failed ones.',
  none: 'Nothing was counted in this time. Daemons are counted once an hour, from the first active one on.',
  span: formatSpan,
  counts: (active: number, silent: number, failed: number) =>
    `${formatCount(active)} active, ${formatCount(silent)} silent, ${formatCount(failed)} failed`,
  notCounted: 'not counted',
  since: (at: number) => `Nothing was counted in this time before ${formatInstant(at)}.`,
  gaps: (missing: number, all: number, isHours: boolean) =>
    `${formatCount(missing)} of ${formatCount(all)} ${isHours ? 'hours' : 'points'} were not counted: they are left blank, and are not zero.`,
  chart: 'Daemons over time: the arrow keys go from point to point. The table below has the same numbers.',
  table: 'Show as table',
  caption: (range: string) => `Fleet over the last ${range}, newest first`,
  time: 'Time',
};
