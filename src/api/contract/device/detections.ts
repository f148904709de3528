import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { asciiText } from '../../http/fields.ts';
import { cutText } from '../../http/text.ts';
import { count, described, givenInstant, named, severity } from '../fields.ts';
import { operation } from '../operation.ts';

const name = (description: string, example: string) =>
  described(asciiText(LIMITS.detectionNameCharactersMax).min(1), `${description}, printable ASCII.`, example);

// Longer evidence is cut, not refused: the detection matters more than the whole of its evidence.
const evidenceText = (codePointsMax: number, description: string, example: string) =>
  described(
    z
      .string()
      .refine((value) => value.isWellFormed(), 'must not contain lone surrogates')
      .transform((value) => cutText(value, { codePointsMax })),
    `${description}; cut after ${codePointsMax} characters.`,
    example,
  ).optional();

const instant = givenInstant.refine((at) => at >= 0, 'must not be before 1970');

/** One event, as the handler judges each by itself. */
export const detectionEvent = named(
  'Detection',
  z.object({
    id: name('An id that never repeats for this app: random rather than counted', 'd41d8cd98f00b204'),
    at: described(instant, 'When it happened, not before 1970, with `Z` or an offset.', '2026-01-31T09:29:58.120Z'),
    rule: name('The rule that found it', 'secrets-in-prompt'),
    severity,
    evidence: named(
      'ReportedEvidence',
      z.object({
        hash: name('A hash of what was found', 'sha256:9f86d081884c7d65'),
        redacted: evidenceText(LIMITS.redactedCodePointsMax, 'What was found, without what is private', 'key=****'),
        full: evidenceText(LIMITS.fullCodePointsMax, 'All that was found', 'key=hunter2'),
      }),
      'What was found. The service cuts what is above the account’s `evidenceLevel` before it stores anything.',
    ),
  }),
  'A detection of a daemon.',
);

const refusedEvent = z
  .object({
    index: count('The place of the event in the request, from 0 on.', 0),
    code: described(z.literal('invalid_request'), 'Why it was refused, for programs.', 'invalid_request'),
    message: described(
      z.string(),
      'Why it was refused, for people.',
      'severity: must be low, medium, high or critical',
    ),
  })
  .meta({ id: 'RefusedDetection', description: 'A detection that was not taken.' });

/** POST /device/v1/detections. */
export const reportDetections = operation({
  id: 'reportDetections',
  method: 'post',
  path: '/device/v1/detections',
  summary: 'Report detections',
  description:
    'Adds entries to the review queue of the account. The same request may be repeated: an event that is known by its ' +
    '`id` is not added again. An event that is wrong is refused alone: `refused` names it, and the others are taken. ' +
    'Private daemons are refused; their detections go to their own collector.',
  body: z
    .object({
      events: described(
        z.array(detectionEvent).max(LIMITS.detectionsPerRequestMax),
        `The detections, at most ${LIMITS.detectionsPerRequestMax}.`,
        undefined,
      ),
    })
    .meta({ id: 'ReportDetectionsRequest', description: 'Detections of one machine.' }),
  refuse: { events: 'invalid_request' },
  answers: [
    {
      status: 202,
      description: 'The detections are stored, but for those that are refused.',
      schema: z
        .object({
          accepted: count('The number of events in the request that were taken, repeats included.', 1),
          refused: described(
            z.array(refusedEvent),
            'The events that were not taken, and will not be; absent where there is none.',
            undefined,
          ).optional(),
        })
        .meta({ id: 'AcceptedDetections', description: 'How many detections were taken.' }),
    },
  ],
});
