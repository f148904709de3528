import { route } from './route.ts';

/** Section 4.7: GET /v1/otel-config. */
export const readOtelConfig = route({
  method: 'get',
  path: '/v1/otel-config',
  requires: 'enterprise',

  async handle({ caller }, { otelConfigs }) {
    return { status: 200, body: await otelConfigs.read(caller) };
  },
});
