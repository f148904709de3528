import { acknowledge } from '../../domain/devices/acknowledge.ts';
import { acknowledgeConfig as operation } from '../contract/device/config.ts';
import { readJson } from '../http/json-body.ts';
import { authenticated } from './authenticate.ts';
import { handle } from './route.ts';

/** POST /device/v1/config/ack. */
export const acknowledgeConfig = handle(operation)(async (exchange, deps) => {
  const found = await authenticated(exchange, deps);
  const { revision, status, error } = await readJson(exchange, operation, 'invalid_request');
  const origin = exchange.origin(`device:${found.app.id}`);
  await exchange.inTime(acknowledge(deps, found, { revision, status, error }, origin));
  return { status: 204 };
});
