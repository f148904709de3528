import type { Environment } from './environment.ts';

/** A number for each listener. */
export interface PerListener {
  readonly api: number;
  readonly device: number;
  readonly ops: number;
  readonly panel: number;
}

export const concurrencyMax = (values: Environment): PerListener => ({
  api: values.MUSTER_API_CONCURRENCY,
  device: values.MUSTER_DEVICE_CONCURRENCY,
  ops: values.MUSTER_OPS_CONCURRENCY,
  panel: values.MUSTER_PANEL_CONCURRENCY,
});

export const connectionsPerAddressMax = (values: Environment): PerListener => ({
  api: values.MUSTER_API_CONNECTIONS_PER_ADDRESS,
  device: values.MUSTER_DEVICE_CONNECTIONS_PER_ADDRESS,
  ops: values.MUSTER_OPS_CONNECTIONS_PER_ADDRESS,
  panel: values.MUSTER_PANEL_CONNECTIONS_PER_ADDRESS,
});
