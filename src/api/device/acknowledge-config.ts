import { acknowledge } from '../../domain/devices/acknowledge.ts';
import { acknowledgeConfig as operation } from '../contract/device/config.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJson } from '../http/json-body.ts';
import { authenticated } from './authenticate.ts';
import type { DeviceDeps } from './deps.ts';

/**
 * POST /device/v1/config/ack.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export async function acknowledgeConfig(exchange: Exchange, deps: DeviceDeps): Promise<void> {
  const found = await authenticated(exchange, deps);
  const { revision, status, error } = await readJson(exchange, operation, 'invalid_request');
  const origin = exchange.origin(`device:${found.app.id}`);
  await exchange.inTime(acknowledge(deps, found, { revision, status, error }, origin));
  exchange.reply({ status: 204 });
}
