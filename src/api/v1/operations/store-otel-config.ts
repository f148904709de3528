import { Secret } from '../../../domain/credentials/secret.ts';
import type { OtelChange } from '../../../domain/otel-config/otel-config.ts';
import * as operations from '../../contract/v1/otel-config.ts';
import { etagOf, ifMatching } from './precondition.ts';
import { handle } from './route.ts';

/** Section 4.8: PUT /v1/otel-config. */
export const storeOtelConfig = handle(operations.storeOtelConfig)(async (
  { caller, body: { enabled, endpoint = '', authHeader, evidenceLevel }, headers },
  { otelConfigs },
) => {
  const header = authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);
  const change: OtelChange = { enabled, endpoint, authHeader: header, evidenceLevel };
  const stored = await ifMatching(headers['if-match'], (isMeant) => otelConfigs.store(caller, change, { isMeant }));
  return { status: 200, body: stored.config, headers: etagOf(stored) };
});
