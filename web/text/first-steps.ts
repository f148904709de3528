/* Texts of an account that has no apps yet. */

export const firstSteps = {
  title: 'First steps',
  away: 'Hide',
  done: 'Done',
  steps: {
    create: { does: 'Create an app', says: 'One for each machine or container that a daemon runs on.' },
    seen: { does: 'Enroll its daemon', says: 'The daemon changes the code of the app for a credential of its own.' },
    collector: {
      does: 'Set the collector',
      says: 'Where daemons send their telemetry, for the whole account at once.',
    },
    invite: { does: 'Invite somebody', says: 'A second owner, so that the account is never without one.' },
  },
  noApps: 'No apps yet',
  noAppsSays: 'An app stands for one daemon: create it here, and enroll the daemon with the code that you get.',
  noAppsForViewers: 'An owner of the account creates apps, and enrolls daemons with their codes.',
};
