import { createHmac } from 'node:crypto';
import { Secret } from '../credentials/secret.ts';
import type { RandomSource } from '../credentials/random-ids.ts';

/*
 * Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 over the id, the instant and the body, by a
 * secret of 32 random bytes that is written as `whsec_` and base64.
 */

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes the secret of an endpoint. */
export const generateWebhookSecret = (random: Pick<RandomSource, 'bytes'>): Secret =>
  new Secret(PREFIX + random.bytes(SECRET_BYTES).toString('base64'));

/** A message as it is signed. */
interface Signed {
  readonly id: string;
  /** Milliseconds since 1970; it is sent in whole seconds. */
  readonly at: number;
  readonly body: string;
}

/** The headers by which a receiver verifies a message: a signature for each secret that is valid. */
export function signatureHeaders(
  { id, at, body }: Signed,
  secrets: readonly Secret[],
): { readonly 'webhook-id': string; readonly 'webhook-timestamp': string; readonly 'webhook-signature': string } {
  const timestamp = String(Math.floor(at / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
