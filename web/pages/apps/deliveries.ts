import { useMemo } from 'preact/hooks';
import { account } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { Deliveries } from './filter.ts';

const useRead = (accountId: string) =>
  useResource(`deliveries ${accountId}`, (signal) => account(accountId).deliveries({ signal }), {
    of: accountId,
    topics: ['rollout', 'config', 'apps'],
  });

/** How reading them went. */
export type DeliveriesRead = ReturnType<typeof useRead>;

/** What each daemon does with the configuration; empty until it is read, and where it cannot be. */
export function useDeliveries(accountId: string): [Deliveries, DeliveriesRead] {
  const read = useRead(accountId);
  const { data } = read;
  return [useMemo(() => new Map((data?.apps ?? []).map((one) => [one.appId, one])), [data]), read];
}
