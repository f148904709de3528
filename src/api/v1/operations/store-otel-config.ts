import * as z from 'zod';
import { Secret } from '../../../domain/credentials/secret.ts';
import { endpointFault } from '../../../domain/otel-config/collector-endpoint.ts';
import { authHeaderFault } from '../../../domain/otel-config/collector-header.ts';
import { route } from './route.ts';

const shape = z.object({
  enabled: z.boolean('must be true or false'),
  endpoint: judged(endpointFault, (endpoint) => endpoint === '').optional(),
  authHeader: judged(authHeaderFault).optional(),
  evidenceLevel: z.enum(['hashes', 'redacted', 'full'], 'must be hashes, redacted or full').default('hashes'),
});

/** O2: judged even when other fields are wrong, so that the first wrong field in the table's order is told (O3). */
const fields = shape.refine(({ enabled, endpoint }) => !enabled || (endpoint !== undefined && endpoint !== ''), {
  path: ['endpoint'],
  message: 'endpoint is required when enabled is true.',
  when: ({ value }) => typeof value === 'object' && value !== null && Object.hasOwn(value, 'enabled'),
});

/** Section 4.8: PUT /v1/otel-config. */
export const storeOtelConfig = route({
  method: 'put',
  path: '/v1/otel-config',
  requires: 'enterprise',
  body: fields,
  refuse: {
    enabled: 'invalid_enabled',
    endpoint: 'invalid_endpoint',
    authHeader: 'invalid_auth_header',
    evidenceLevel: 'invalid_evidence_level',
  },

  async handle({ caller, body: { enabled, endpoint = '', authHeader, evidenceLevel } }, { otelConfigs }) {
    const header = authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);
    const stored = await otelConfigs.store(caller, { enabled, endpoint, authHeader: header, evidenceLevel });
    return { status: 200, body: stored };
  },
});

/** A schema for a text that a rule judges. The rule's sentence never repeats the value. */
function judged(fault: (value: string) => string | undefined, passes?: (value: string) => boolean): z.ZodString {
  return z.string('must be a string').check((ctx) => {
    const message = passes?.(ctx.value) === true ? undefined : fault(ctx.value);
    if (message !== undefined) ctx.issues.push({ code: 'custom', message, input: undefined });
  });
}
