import { refusePrivate, takeDetections } from '../../domain/review-queue/detections.ts';
import { reportDetections as operation } from '../contract/device/detections.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJson } from '../http/json-body.ts';
import { authenticated } from './authenticate.ts';
import type { DeviceDeps } from './deps.ts';

/**
 * POST /device/v1/detections.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export async function reportDetections(exchange: Exchange, deps: DeviceDeps): Promise<void> {
  const found = await authenticated(exchange, deps);
  refusePrivate(found);
  const { events } = await readJson(exchange, operation, 'invalid_request');
  const origin = exchange.origin(`device:${found.app.id}`);
  const accepted = await exchange.inTime(takeDetections(deps, found, events, origin));
  exchange.reply({ status: 202, body: { accepted } });
}
