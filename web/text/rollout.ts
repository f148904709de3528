/* Texts of a rollout, which the overview shows as well. */

export const rollout = {
  title: 'Rollout',
  revision: (revision: number) => (revision === 0 ? 'Nothing was stored yet.' : `Revision ${revision}`),
  parts: { applied: 'Applied', failed: 'Failed', unhealthy: 'Unhealthy', pending: 'Pending', stale: 'Silent' },
  noDevices: 'No active cloud daemon takes a configuration.',
  failures: 'Failures by what the daemons said',
  failureColumns: { error: 'What was said', devices: 'Daemons' },
  emptied: 'It runs the empty configuration in its place.',
  unhealthy: 'Agents that say they are not healthy',
  latest: 'Newest failures',
  latestColumns: { app: 'App', error: 'What was said', at: 'When' },
};
