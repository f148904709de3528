import * as operations from '../../contract/v1/otel-config.ts';
import { route } from './route.ts';

/** Section 4.9: DELETE /v1/otel-config; also without the entitlement. */
export const purgeOtelConfig = route(operations.purgeOtelConfig, async ({ caller }, { otelConfigs }) => {
  await otelConfigs.purge(caller);
  return { status: 200, body: { deleted: true } };
});
