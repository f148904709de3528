import type { Sections } from '../../metrics/instruments/sections.ts';

export const fleetMetrics = ({ fleet, store }: Sections) => ({
  accountCount: fleet.callbackGauge({ name: 'muster_accounts', help: 'Accounts.', unit: 'accounts' }),
  usersRefusedWithKeys: fleet.callbackGauge({
    name: 'muster_users_refused_with_keys',
    help: 'Users whom the provider of sign-ins refused while API keys that they made still work.',
    unit: 'users',
  }),
  appCount: fleet.callbackGauge({ name: 'muster_apps', help: 'Apps of all accounts.', unit: 'apps' }),
  recordUnreadable: store.counter({
    name: 'muster_records_unreadable_total',
    help: 'Records whose stored text does not have the expected shape.',
    unit: 'records',
  }),
});
