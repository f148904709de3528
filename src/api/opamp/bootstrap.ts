import { isEnrollCode } from '../../domain/credentials/tokens.ts';
import { bootstrap } from '../../domain/opamp/bootstrap.ts';
import { can } from '../../opamp/capabilities.ts';
import { BadMessage } from '../../opamp/messages.ts';
import { APP_ID } from '../contract/fields.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { bearerOf } from '../http/request-headers.ts';
import { describedBy, instanceOf } from './agent-report.ts';
import { reply } from './answer.ts';
import type { OpampDeps } from './deps.ts';
import { readStrangersMessage } from './read-message.ts';

/** The code that a request has in place of a credential, where codes are taken. */
export function codeOf({ request }: Exchange, { connection }: OpampDeps): string | undefined {
  const { token } = bearerOf(request);
  return connection.bootstrap && token !== undefined && isEnrollCode(token) ? token : undefined;
}

/**
 * Enrolls an agent with its code and offers it the credential; what it is to export comes once it is back with that.
 * @throws BadMessage; Refusal `invalid_code`, `account_disabled`, `invalid_request`; HttpRefusal `payload_too_large` or
 * `overloaded`; StoreUnavailable; Busy
 */
export async function bootstrapAgent(exchange: Exchange, deps: OpampDeps, enrollCode: string): Promise<void> {
  const message = await readStrangersMessage(exchange, deps.enrollmentBodies);
  const appId = String(exchange.request.headers['muster-app-id'] ?? '');
  // The code would be spent on an agent that goes on using it.
  if (!can(message.capabilities, 'acceptConnectionSettings')) {
    throw new BadMessage('This agent does not accept connection settings: give it a device credential, not a code.');
  }
  const instance = instanceOf(message);
  if (instance === undefined) throw new BadMessage('instance_uid must have 16 bytes that are not all zero.');
  const { platform = '', agentVersion = '' } = message.agentDescription ? describedBy(message.agentDescription) : {};
  const origin = exchange.origin(APP_ID.test(appId) ? `device:${appId}` : 'device');
  const enrolled = deps.enrollments.tryRun(() =>
    exchange.inTime(bootstrap(deps, { appId, enrollCode, instance, platform, agentVersion }, origin)),
  );
  if (!enrolled) throw new HttpRefusal('overloaded');
  const credential = await enrolled;
  const interval = deps.configs.pollIntervalSeconds(appId);
  const settings = deps.settings.complete(interval, credential.reveal());
  deps.metrics.opampMessageEnded('enrolled');
  reply(exchange, message.instanceUid, { connectionSettings: settings.message() });
}
