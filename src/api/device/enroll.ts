import { hashFromHex } from '../../domain/credentials/tokens.ts';
import { enroll } from '../../domain/devices/enrollment.ts';
import { enrollDevice as operation } from '../contract/device/enrollment.ts';
import { APP_ID } from '../contract/fields.ts';
import { HttpRefusal } from '../http/errors.ts';
import { bearerOf } from '../http/request-headers.ts';
import { readJson } from '../http/json-body.ts';
import { handle } from './route.ts';

/** POST /device/v1/enroll. */
export const enrollDevice = handle(operation)(async (exchange, deps) => {
  const { credentialHash: hex, ...fields } = await readJson(
    exchange,
    operation,
    'invalid_request',
    deps.enrollmentBodies,
  );
  const credentialHash = hex === undefined ? undefined : hashFromHex(hex);
  // Any other bearer, as of a client that sends its old credential with each request, proves nothing.
  const proved = credentialHash !== undefined && bearerOf(exchange.request).credentialHash === credentialHash;
  const origin = exchange.origin(APP_ID.test(fields.appId) ? `device:${fields.appId}` : 'device');
  const enrolled = deps.enrollments.tryRun(() =>
    exchange.inTime(enroll(deps, { ...fields, credentialHash, proved }, origin)),
  );
  if (!enrolled) throw new HttpRefusal('overloaded');
  const { appId, credential } = await enrolled;
  return {
    status: 200,
    body: {
      appId,
      status: 'active',
      pollIntervalSeconds: deps.configs.pollIntervalSeconds(appId),
      ...(credential && { credential: credential.reveal() }),
    },
  };
});
