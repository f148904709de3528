import * as operations from '../../contract/v1/otel-config.ts';
import { etagOf, isKnown } from './precondition.ts';
import { handle } from './route.ts';

/** Section 4.7: GET /v1/otel-config. */
export const readOtelConfig = handle(operations.readOtelConfig)(async (
  { account, headers: { 'if-none-match': ifNoneMatch } },
  { otelConfigs },
) => {
  const read = await otelConfigs.read(account);
  const headers = etagOf(read);
  return isKnown(ifNoneMatch, read) ? { status: 304, headers } : { status: 200, body: read.config, headers };
});
