import type { IncomingHttpHeaders } from 'node:http';
import type { Apps } from '../../../domain/apps/apps.ts';
import type { Caller } from '../../../domain/apps/own-app.ts';
import type { AccountReader } from '../../../domain/fleet/reader.ts';
import type { OtelConfigs } from '../../../domain/otel-config/otel-config.ts';
import { handlerOf } from '../../serve/route.ts';

/** The services that the operations of `/v1` use. */
export interface Services {
  readonly apps: Apps;
  readonly otelConfigs: OtelConfigs;
}

/** The part of a call that the operations of `/v1` have alone. */
export interface V1Call {
  readonly caller: Caller;
  /** The caller's account, as new as the request. */
  readonly account: AccountReader;
  /** H22. */
  readonly headers: Pick<IncomingHttpHeaders, 'if-match' | 'if-none-match'>;
}

/** Gives an operation of `/v1` its handler. */
export const handle = handlerOf<V1Call, Services>();
