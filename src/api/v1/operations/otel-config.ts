import { Secret } from '../../../domain/credentials/secret.ts';
import type { OtelChange } from '../../../domain/otel-config/otel-config.ts';
import * as operations from '../../contract/v1/otel-config.ts';
import { etagOf, ifMatching, isKnown } from './precondition.ts';
import { handle } from './route.ts';

/** Sections 4.7 to 4.9: the operations on the configuration. */
export const OTEL_CONFIG = [
  handle(operations.readOtelConfig)(async ({ account, headers: { 'if-none-match': ifNoneMatch } }, { otelConfigs }) => {
    const read = await otelConfigs.read(account);
    const headers = etagOf(read);
    return isKnown(ifNoneMatch, read) ? { status: 304, headers } : { status: 200, body: read.config, headers };
  }),

  handle(operations.storeOtelConfig)(async ({ caller, body, headers }, { otelConfigs }) => {
    const { enabled, endpoint = '', authHeader, evidenceLevel } = body;
    const header = authHeader === '' ? 'remove' : authHeader === undefined ? undefined : new Secret(authHeader);
    const change: OtelChange = { enabled, endpoint, authHeader: header, evidenceLevel };
    const stored = await ifMatching(headers['if-match'], (isMeant) => otelConfigs.store(caller, change, { isMeant }));
    return { status: 200, body: stored.config, headers: etagOf(stored) };
  }),

  handle(operations.purgeOtelConfig)(async ({ caller, headers }, { otelConfigs }) => {
    await ifMatching(headers['if-match'], (isMeant) => otelConfigs.purge(caller, isMeant));
    return { status: 200, body: { deleted: true } };
  }),
] as const;
