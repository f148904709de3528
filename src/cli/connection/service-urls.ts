import { localUrl } from '../../config/addresses.ts';
import type { Service } from '../../service/service.ts';

/** The addresses of the three listeners for a client on this machine. */
export interface Urls {
  readonly api: string;
  readonly device: string;
  readonly ops: string;
}

/** The addresses of a service in this process, or of its log line. */
export function urlsOf({ api, device, ops }: Pick<Service, 'api' | 'device' | 'ops'>): Urls {
  const url = ({ host, port }: Service['api']): string => localUrl('http', host, port);
  return { api: url(api), device: url(device), ops: url(ops) };
}

/** Whether a host, as URL has it, is this machine to itself alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(?:\.\d+){3}$/.test(host);
