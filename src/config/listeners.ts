import type * as z from 'zod';
import { pollIntervalAt } from '../time/poll-interval.ts';
import { ConfigError } from './files/config-error.ts';
import type { panelVariables } from './panel-variables.ts';
import { IDLE_BEHIND_PROXIES_SECONDS, IDLE_SECONDS, IDLE_UNSET, idleSeconds, integer } from './rules.ts';

/** The listeners of a service, each on an address of its own. */
export const LISTENER_NAMES = ['api', 'device', 'ops', 'panel'] as const;
export type ListenerName = (typeof LISTENER_NAMES)[number];

/** The variable with the address of a listener. */
export const listenVariable = (name: ListenerName): string => `MUSTER_${name.toUpperCase()}_LISTEN`;

/* The bounds of the listeners; those of the panel's listener stand with its other variables. */

export const boundVariables = {
  MUSTER_API_CONCURRENCY: integer(1, 1_000_000).prefault('2000').meta({
    description: 'Requests in flight on the API listener. One more is refused with 502 and `Retry-After`.',
  }),
  MUSTER_DEVICE_CONCURRENCY: integer(1, 1_000_000).prefault('10000').meta({
    description: 'Requests in flight on the device listener, held polls not counted. One more is refused with 503.',
  }),
  MUSTER_OPS_CONCURRENCY: integer(1, 1_000_000)
    .prefault('200')
    .meta({
      description:
        'Requests in flight on the ops listener. One more is refused with 503. Probes and `/metrics` have as many slots ' +
        'of their own.',
    }),
  MUSTER_API_CONNECTIONS_PER_ADDRESS: integer(0, 1_000_000)
    .prefault('5000')
    .meta({
      description:
        'Connections of one address (of a /64 in IPv6) to the API listener that have not authenticated a request. At the ' +
        'bound the one that has been idle longest is closed. 0 is no bound: for a listener whose clients all come from ' +
        'the address of a proxy or a load balancer.',
    }),
  MUSTER_DEVICE_CONNECTIONS_PER_ADDRESS: integer(0, 1_000_000)
    .prefault('50000')
    .meta({ description: 'The same for the device listener.' }),
  MUSTER_OPS_CONNECTIONS_PER_ADDRESS: integer(0, 1_000_000)
    .prefault('500')
    .meta({ description: 'The same for the ops listener.' }),
  MUSTER_API_IDLE_SECONDS: idleSeconds.optional().meta({
    unset: IDLE_UNSET,
    description:
      'How long a connection to the API listener stays open without a request, once one of it was authenticated. A proxy ' +
      'must close its idle connections before that: [INSTALL.md](INSTALL.md#idle-times) has the settings.',
  }),
  MUSTER_DEVICE_IDLE_SECONDS: idleSeconds.optional().meta({
    unset: `twice the longest poll interval that a daemon is told, and at least ${IDLE_UNSET}`,
    description:
      'The same for the device listener. Less than twice the longest poll interval is refused: a daemon that polls just ' +
      'when its connection is closed loses the request.',
  }),
  MUSTER_OPS_IDLE_SECONDS: idleSeconds.optional().meta({
    unset: IDLE_UNSET,
    description: 'The same for the ops listener.',
  }),
};

/** A number for each listener. */
export type PerListener = Readonly<Record<ListenerName, number>>;

type Values = z.infer<z.ZodObject<typeof boundVariables & typeof panelVariables>>;

export const concurrencyMax = (values: Values): PerListener => ({
  api: values.MUSTER_API_CONCURRENCY,
  device: values.MUSTER_DEVICE_CONCURRENCY,
  ops: values.MUSTER_OPS_CONCURRENCY,
  panel: values.MUSTER_PANEL_CONCURRENCY,
});

export const connectionsPerAddressMax = (values: Values): PerListener => ({
  api: values.MUSTER_API_CONNECTIONS_PER_ADDRESS,
  device: values.MUSTER_DEVICE_CONNECTIONS_PER_ADDRESS,
  ops: values.MUSTER_OPS_CONNECTIONS_PER_ADDRESS,
  panel: values.MUSTER_PANEL_CONNECTIONS_PER_ADDRESS,
});

/** A daemon that polls once in its interval meets an open connection even where one of its polls is late. */
const INTERVALS_IDLE = 2;

interface IdleValues extends Values {
  readonly MUSTER_POLL_INTERVAL_SECONDS: number;
  readonly MUSTER_TRUSTED_PROXIES?: readonly unknown[] | undefined;
}

/**
 * The idle times: the side that sends must be the side that closes first, or it sends on a connection that is being
 * closed (RFC 9112, 9.5).
 * @throws ConfigError where the device listener is to close connections that daemons still use
 */
export function idleSecondsOf(values: IdleValues): PerListener {
  const usual = values.MUSTER_TRUSTED_PROXIES === undefined ? IDLE_SECONDS : IDLE_BEHIND_PROXIES_SECONDS;
  const deviceMin = INTERVALS_IDLE * pollIntervalAt(values.MUSTER_POLL_INTERVAL_SECONDS, 1);
  const device = values.MUSTER_DEVICE_IDLE_SECONDS ?? Math.max(deviceMin, usual);
  if (device < deviceMin) {
    throw new ConfigError(
      `MUSTER_DEVICE_IDLE_SECONDS: must be at least ${deviceMin}, twice the longest poll interval that ` +
        'MUSTER_POLL_INTERVAL_SECONDS gives daemons',
    );
  }
  return {
    api: values.MUSTER_API_IDLE_SECONDS ?? usual,
    device,
    ops: values.MUSTER_OPS_IDLE_SECONDS ?? usual,
    panel: values.MUSTER_PANEL_IDLE_SECONDS ?? usual,
  };
}
