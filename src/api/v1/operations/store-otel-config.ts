import { Secret } from '../../../domain/credentials/secret.ts';
import * as operations from '../../contract/v1/otel-config.ts';
import { route } from './route.ts';

/** Section 4.8: PUT /v1/otel-config. */
export const storeOtelConfig = route(
  operations.storeOtelConfig,
  async ({ caller, body: { enabled, endpoint = '', authHeader, evidenceLevel } }, { otelConfigs }) => {
    const header = authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);
    const stored = await otelConfigs.store(caller, { enabled, endpoint, authHeader: header, evidenceLevel });
    return { status: 200, body: stored };
  },
);
