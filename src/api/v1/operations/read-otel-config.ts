import * as operations from '../../contract/v1/otel-config.ts';
import { route } from './route.ts';

/** Section 4.7: GET /v1/otel-config. */
export const readOtelConfig = route(operations.readOtelConfig, async ({ caller }, { otelConfigs }) => ({
  status: 200,
  body: await otelConfigs.read(caller),
}));
