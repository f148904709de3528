import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import { SEVERITIES } from '../../domain/records/review-records.ts';
import { refusePrivate, takeDetections } from '../../domain/review-queue/detections.ts';
import type { Exchange } from '../http/exchange.ts';
import { asciiText } from '../http/fields.ts';
import { readJson } from '../http/json-body.ts';
import { cutText } from '../http/text.ts';
import { authenticated } from './authenticate.ts';
import type { DeviceDeps } from './deps.ts';

const name = asciiText(LIMITS.detectionNameCharactersMax).min(1);

// Longer evidence is cut, not refused: the detection matters more than the whole of its evidence.
const evidenceText = (codePointsMax: number) =>
  z
    .string()
    .refine((value) => value.isWellFormed(), 'must not contain lone surrogates')
    .transform((value) => cutText(value, { codePointsMax }));

const instant = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date-time with Z or an offset' })
  .max(64)
  .transform((value) => Date.parse(value))
  .refine((at) => at >= 0, 'must not be before 1970');

const body = z.object({
  events: z
    .array(
      z.object({
        id: name,
        at: instant,
        rule: name,
        severity: z.enum(SEVERITIES),
        evidence: z.object({
          hash: name,
          redacted: evidenceText(LIMITS.redactedCodePointsMax).optional(),
          full: evidenceText(LIMITS.fullCodePointsMax).optional(),
        }),
      }),
    )
    .max(LIMITS.detectionsPerRequestMax),
});
const refuse = { events: 'invalid_request' } as const;

/**
 * POST /device/v1/detections.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export async function reportDetections(exchange: Exchange, deps: DeviceDeps): Promise<void> {
  const found = await authenticated(exchange, deps);
  refusePrivate(found);
  const { events } = await readJson(exchange, body, refuse, 'invalid_request');
  const origin = exchange.origin(`device:${found.app.id}`);
  const accepted = await exchange.inTime(takeDetections(deps, found, events, origin));
  exchange.reply({ status: 202, body: { accepted } });
}
