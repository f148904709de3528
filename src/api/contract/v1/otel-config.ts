import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { endpointFault } from '../../../domain/otel-config/collector-endpoint.ts';
import { authHeaderFault } from '../../../domain/otel-config/collector-header.ts';
import { described, evidenceLevel } from '../fields.ts';
import { operation } from '../operation.ts';

const enabledText = 'Whether daemons export to the collector.';
const endpointText =
  'The OTLP/HTTP address of the collector. `http:` is for loopback and private hosts only; no credentials, query or fragment.';

const otelConfig = z
  .object({
    enabled: described(z.boolean(), enabledText, true),
    endpoint: described(z.string(), `${endpointText} Empty where none is stored.`, 'https://otel.example.com'),
    authHeaderSet: described(z.boolean(), 'Whether a header is stored. Its value is never shown.', true),
    evidenceLevel,
  })
  .meta({ id: 'OtelConfig', description: 'The OpenTelemetry export configuration of the fleet, without its secret.' });

/** Outlines for those who make or check a request by its schema; the rules are stricter, and say more. */
const ENDPOINT = '^(?:[Hh][Tt][Tt][Pp][Ss]?://[!"$->@-~]+)?$';
const AUTH_HEADER = '^(?:[!-~](?:[ -~]*[!-~])?)?$';

const shape = z.object({
  enabled: described(z.boolean('must be true or false'), enabledText, true),
  endpoint: described(
    judged(endpointFault, (endpoint) => endpoint === ''),
    `${endpointText} Required when \`enabled\` is true.`,
    'https://otel.example.com',
  )
    .meta({ maxLength: LIMITS.endpointCharactersMax, pattern: ENDPOINT })
    .optional(),
  authHeader: described(
    judged(authHeaderFault),
    'The value of the `Authorization` header for the collector, or `Name: value` for another header. A secret: it is ' +
      'stored encrypted and never shown. Without this field the stored value stays; an empty text deletes it.',
    'Bearer collector-token',
  )
    .meta({ maxLength: LIMITS.authHeaderCharactersMax, pattern: AUTH_HEADER })
    .optional(),
  evidenceLevel: described(
    evidenceLevel.default('hashes'),
    'How much of a detection leaves the machine; `hashes` without it.',
    'hashes',
  ),
});

/** O2: judged even when other fields are wrong, so that the first wrong field in the table's order is told (O3). */
const fields = shape
  .refine(({ enabled, endpoint }) => !enabled || (endpoint !== undefined && endpoint !== ''), {
    path: ['endpoint'],
    message: 'endpoint is required when enabled is true.',
    when: ({ value }) => typeof value === 'object' && value !== null && Object.hasOwn(value, 'enabled'),
  })
  .meta({ id: 'StoreOtelConfigRequest', description: 'The configuration to store.' });

/** Section 4.7. */
export const readOtelConfig = operation({
  id: 'readOtelConfig',
  method: 'get',
  path: '/v1/otel-config',
  keyUse: 'read',
  summary: 'Read the configuration',
  description: 'Reads the OpenTelemetry export configuration. The header of the collector is not shown.',
  requires: 'enterprise',
  headers: ['If-None-Match'],
  answers: [
    { status: 200, description: 'The configuration.', schema: otelConfig, headers: ['ETag'] },
    { status: 304, description: 'The configuration is the one of the tag.', headers: ['ETag'] },
  ],
  command: 'otel get',
});

/** Section 4.8. */
export const storeOtelConfig = operation({
  id: 'storeOtelConfig',
  method: 'put',
  path: '/v1/otel-config',
  summary: 'Set the configuration',
  description:
    'Sets the configuration of all cloud-managed daemons of the account; each picks it up on its next poll. The whole ' +
    'body is judged before anything is stored. With `If-Match` it is stored over no configuration but the one that you ' +
    'have read: nothing that somebody else has changed meanwhile is undone.',
  requires: 'enterprise',
  headers: ['If-Match'],
  body: fields,
  refuse: {
    enabled: 'invalid_enabled',
    endpoint: 'invalid_endpoint',
    authHeader: 'invalid_auth_header',
    evidenceLevel: 'invalid_evidence_level',
  },
  answers: [{ status: 200, description: 'The configuration as it is stored.', schema: otelConfig, headers: ['ETag'] }],
  command: 'otel set --endpoint {endpoint} --auth-header-file collector-header',
});

/** Section 4.9; also without the entitlement. */
export const purgeOtelConfig = operation({
  id: 'purgeOtelConfig',
  method: 'delete',
  path: '/v1/otel-config',
  summary: 'Purge the configuration',
  description:
    'Removes the configuration and its secret; daemons then export nothing. It works without the Enterprise ' +
    'entitlement too, and where nothing is stored.',
  headers: ['If-Match'],
  answers: [
    {
      status: 200,
      description: 'Nothing is stored any more.',
      schema: z
        .object({ deleted: described(z.boolean(), 'Always true.', true) })
        .meta({ id: 'PurgedOtelConfig', description: 'The configuration is purged.' }),
    },
  ],
  command: 'otel purge --yes',
  panel: 'owner',
});

/** A schema for a text that a rule judges. The rule's sentence never repeats the value. */
function judged(fault: (value: string) => string | undefined, passes?: (value: string) => boolean): z.ZodString {
  return z.string('must be a string').check((ctx) => {
    const message = passes?.(ctx.value) === true ? undefined : fault(ctx.value);
    if (message !== undefined) ctx.issues.push({ code: 'custom', message, input: undefined });
  });
}
