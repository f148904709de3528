import * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import { refusePrivate, takeDetections, type Detection } from '../../domain/review-queue/detections.ts';
import { detectionEvent, reportDetections as operation } from '../contract/device/detections.ts';
import { wordsOfIssue } from '../http/fields.ts';
import { readJson } from '../http/json-body.ts';
import { authenticated } from './authenticate.ts';
import { handle } from './route.ts';

/** The body, whose events are judged one by one: a daemon that sends the same again must not lose all for one. */
const BODY = z.object({ events: z.array(z.unknown()).max(LIMITS.detectionsPerRequestMax) });

/** POST /device/v1/detections. */
export const reportDetections = handle(operation)(async (exchange, deps) => {
  const found = await authenticated(exchange, deps);
  refusePrivate(found);
  const { events } = await readJson(exchange, { body: BODY, refuse: operation.refuse }, 'invalid_request');
  const { taken, refused } = judged(events);
  const origin = exchange.origin(`device:${found.app.id}`);
  const accepted = await exchange.inTime(takeDetections(deps, found, taken, origin));
  return { status: 202, body: { accepted, ...(refused.length > 0 && { refused }) } };
});

interface RefusedEvent {
  readonly index: number;
  readonly code: 'invalid_request';
  readonly message: string;
}

function judged(events: readonly unknown[]): {
  readonly taken: readonly Detection[];
  readonly refused: readonly RefusedEvent[];
} {
  const taken: Detection[] = [];
  const refused: RefusedEvent[] = [];
  for (const [index, event] of events.entries()) {
    const { success, data, error } = detectionEvent.safeParse(event, { error: wordsOfIssue });
    if (success) taken.push(data);
    else refused.push({ index, code: 'invalid_request', message: wordsOf(error) });
  }
  return { taken, refused };
}

/** The first fault, with the field where there is one: fields are the service's own names. */
function wordsOf({ issues: [issue] }: z.ZodError): string {
  return [issue?.path.join('.') ?? '', issue?.message ?? ''].filter((part) => part !== '').join(': ');
}
