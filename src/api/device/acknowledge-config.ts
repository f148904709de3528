import * as z from 'zod';
import { acknowledge } from '../../domain/devices/acknowledge.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Exchange } from '../http/exchange.ts';
import { readJson } from '../http/json-body.ts';
import { textFault } from '../http/text.ts';
import { authenticated } from './authenticate.ts';
import type { DeviceDeps } from './deps.ts';

const body = z.object({
  revision: z.int().min(0),
  status: z.enum(['applied', 'failed']),
  // A longer error text of a daemon is cut, not refused: the state matters more than the prose.
  error: z
    .string()
    .refine(
      (value) => textFault(value, { codePointsMax: LIMITS.requestBodyBytesMax }) === undefined,
      'must be Unicode text',
    )
    .transform((value) => value.slice(0, LIMITS.ackErrorCharactersMax).toWellFormed())
    .optional(),
});
const refuse = { revision: 'invalid_request', status: 'invalid_request', error: 'invalid_request' } as const;

/**
 * POST /device/v1/config/ack.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export async function acknowledgeConfig(exchange: Exchange, deps: DeviceDeps): Promise<void> {
  const found = await authenticated(exchange, deps);
  const { revision, status, error } = await readJson(exchange, body, refuse, 'invalid_request');
  const origin = exchange.origin(`device:${found.app.id}`);
  await exchange.inTime(acknowledge(deps, found, { revision, status, error }, origin));
  exchange.reply({ status: 204 });
}
