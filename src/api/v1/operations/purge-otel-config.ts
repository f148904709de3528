import * as operations from '../../contract/v1/otel-config.ts';
import { ifMatching } from './precondition.ts';
import { handle } from './route.ts';

/** Section 4.9: DELETE /v1/otel-config; also without the entitlement. */
export const purgeOtelConfig = handle(operations.purgeOtelConfig)(async ({ caller, headers }, { otelConfigs }) => {
  await ifMatching(headers['if-match'], (isMeant) => otelConfigs.purge(caller, isMeant));
  return { status: 200, body: { deleted: true } };
});
