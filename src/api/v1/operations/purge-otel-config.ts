import { route } from './route.ts';

/** Section 4.9: DELETE /v1/otel-config; also without the entitlement. */
export const purgeOtelConfig = route({
  method: 'delete',
  path: '/v1/otel-config',

  async handle({ caller }, { otelConfigs }) {
    await otelConfigs.purge(caller);
    return { status: 200, body: { deleted: true } };
  },
});
