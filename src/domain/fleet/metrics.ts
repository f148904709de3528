import type { Sections } from '../../metrics/instruments/sections.ts';

export const fleetMetrics = ({ fleet, store }: Sections) => ({
  accountCount: fleet.callbackGauge({ name: 'muster_accounts', help: 'Accounts.', unit: 'accounts' }),
  appCount: fleet.callbackGauge({ name: 'muster_apps', help: 'Apps of all accounts.', unit: 'apps' }),
  recordUnreadable: store.counter({
    name: 'muster_records_unreadable_total',
    help: 'Records whose stored text does not have the expected shape.',
    unit: 'records',
  }),
});
