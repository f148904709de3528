import * as z from 'zod';
import { hashFromHex } from '../../domain/credentials/tokens.ts';
import { enroll } from '../../domain/devices/enrollment.ts';
import { LIMITS } from '../../domain/limits.ts';
import { HttpRefusal, type Exchange } from '../http/exchange.ts';
import { asciiText } from '../http/fields.ts';
import { bearerOf } from '../http/bearer.ts';
import { readJson } from '../http/json-body.ts';
import type { DeviceDeps } from './deps.ts';

const body = z.object({
  appId: z.string(),
  enrollCode: z.string(),
  platform: asciiText(LIMITS.deviceTextCharactersMax).default(''),
  agentVersion: asciiText(LIMITS.deviceTextCharactersMax).default(''),
  // O11: a device that does not say how it is connected is private.
  connection: z.enum(['cloud', 'private']).default('private'),
  credentialHash: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be the SHA-256 of the credential as 64 hex digits')
    .optional(),
});
const refuse = {
  appId: 'invalid_request',
  enrollCode: 'invalid_request',
  platform: 'invalid_request',
  agentVersion: 'invalid_request',
  connection: 'invalid_request',
  credentialHash: 'invalid_request',
} as const;

/**
 * POST /device/v1/enroll.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export async function enrollDevice(exchange: Exchange, deps: DeviceDeps): Promise<void> {
  const { credentialHash: hex, ...fields } = await readJson(
    exchange,
    body,
    refuse,
    'invalid_request',
    deps.enrollmentBodies,
  );
  const credentialHash = hex === undefined ? undefined : hashFromHex(hex);
  // Any other bearer, as of a client that sends its old credential with each request, proves nothing.
  const proved = credentialHash !== undefined && bearerOf(exchange.request).credentialHash === credentialHash;
  const origin = exchange.origin(/^[a-z0-9]{20}$/.test(fields.appId) ? `device:${fields.appId}` : 'device');
  const enrolled = deps.enrollments.tryRun(() =>
    exchange.inTime(enroll(deps, { ...fields, credentialHash, proved }, origin)),
  );
  if (!enrolled) throw new HttpRefusal('overloaded');
  const { appId, credential } = await enrolled;
  exchange.reply({
    status: 200,
    body: {
      appId,
      status: 'active',
      pollIntervalSeconds: deps.configs.pollIntervalSeconds(appId),
      ...(credential && { credential: credential.reveal() }),
    },
  });
}
