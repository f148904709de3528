import type { AgentReport } from '../../domain/opamp/agent-state.ts';
import type { Attended } from '../../domain/opamp/agents.ts';
import type { OpampResult } from '../../domain/opamp/metrics.ts';
import { isEmptied } from '../../domain/opamp/remote-config.ts';
import { Refusal } from '../../domain/refusal.ts';
import { REPORT_FULL_STATE, REQUEST_INSTANCE_UID } from '../../opamp/capabilities.ts';
import { newInstanceUid } from '../../opamp/instance-uid.ts';
import { BadMessage, type AnswerFields } from '../../opamp/messages.ts';
import { authenticated, authenticatedAgain } from '../device/authenticate.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { bearerOf } from '../http/request-headers.ts';
import { agentReport, instanceOf } from './agent-report.ts';
import { reply, replyBadRequest } from './answer.ts';
import { bootstrapAgent, codeOf } from './bootstrap.ts';
import type { Settings } from './connection-settings.ts';
import type { OpampDeps } from './deps.ts';
import { readMessage } from './read-message.ts';
import { Sequences } from './sequences.ts';

/** The route of every request, whatever path the installation has chosen. */
export const OPAMP_ROUTE = '/v1/opamp';

/** The endpoint of OpAMP over plain HTTP: agents are daemons of the fleet like any other. */
interface OpampEndpoint {
  /** @throws Refusal; HttpRefusal; StoreUnavailable; Busy */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /** Called before the refusal is sent. */
  readonly refused: (error: unknown) => void;
}

export function createOpampEndpoint(deps: OpampDeps): OpampEndpoint {
  const sequences = new Sequences(() => deps.fleet.memory.appCount, deps.isAlone);
  return {
    async handle(exchange) {
      // Stock agents repeat a 503 and drop what any other error was the answer to.
      exchange.outage = 'unavailable';
      try {
        const code = codeOf(exchange, deps);
        await (code === undefined ? attend(exchange, deps, sequences) : bootstrapAgent(exchange, deps, code));
      } catch (error) {
        if (!(error instanceof BadMessage)) throw error;
        deps.metrics.opampMessageEnded('bad_request');
        replyBadRequest(exchange, new Uint8Array(), error.message);
      }
    },
    refused: (error) => deps.metrics.opampMessageEnded(resultOf(error)),
  };
}

const RESULT_OF_CODE: ReadonlyMap<string, OpampResult> = new Map<string, OpampResult>([
  ['invalid_request', 'bad_request'],
  ['payload_too_large', 'too_large'],
  ['invalid_code', 'invalid_code'],
  ['invalid_credential', 'invalid_credential'],
  ['account_disabled', 'account_disabled'],
  ['rate_limited', 'rate_limited'],
]);

function resultOf(error: unknown): OpampResult {
  const code = error instanceof Refusal || error instanceof HttpRefusal ? error.code : '';
  return RESULT_OF_CODE.get(code) ?? 'unavailable';
}

/** The part of a message that is kept while the store is asked; its body, and all else that it says, is not. */
interface Said {
  readonly report: Omit<AgentReport, 'gap'>;
  readonly instanceUid: Uint8Array;
  readonly sequenceNum: bigint;
  readonly wantsUid: boolean;
  readonly isFarewell: boolean;
}

async function readSaid(exchange: Exchange, deps: OpampDeps): Promise<Said> {
  const message = await readMessage(exchange, deps);
  const { instanceUid, sequenceNum, flags, agentDisconnect } = message;
  return {
    report: agentReport(message),
    // A copy: the bytes of a message are a part of its body.
    instanceUid: Uint8Array.from(instanceUid),
    sequenceNum,
    wantsUid: (flags & REQUEST_INSTANCE_UID) !== 0n || instanceOf(message) === undefined,
    isFarewell: agentDisconnect !== undefined,
  };
}

async function attend(exchange: Exchange, deps: OpampDeps, sequences: Sequences): Promise<void> {
  const first = await authenticated(exchange, deps);
  const { complete, headers, socket } = exchange.request;
  const said = await readSaid(exchange, deps);
  // A body may take half a minute, or wait to be inflated, and the credential may be revoked meanwhile (A12).
  const isAtOnce = complete && headers['content-encoding'] === undefined;
  const found = isAtOnce ? first : await exchange.inTime(authenticatedAgain(exchange, deps));
  if (found.app.connection === 'private') {
    deps.metrics.opampMessageEnded('bad_request');
    return replyBadRequest(exchange, said.instanceUid, PRIVATE);
  }
  deps.heartbeats.seen(found.app, deps.clock.now());
  if (said.isFarewell) {
    deps.metrics.opampMessageEnded('unchanged');
    return reply(exchange, said.instanceUid, {});
  }
  const report = { ...said.report, gap: sequences.isGap(socket, found.app.id, said) };
  const bearer = bearerOf(exchange.request).token ?? '';
  const settings = deps.settings.poll(report.abilities, deps.configs.pollIntervalSeconds(found.app.id), bearer);
  const origin = exchange.origin(`device:${found.app.id}`);
  const attended = await exchange.inTimeIfLate(deps.agents.attend(found, report, settings, origin));
  sequences.taken(socket, found.app.id, said);
  count(deps, attended);
  reply(exchange, said.instanceUid, answerOf(said, attended, settings));
}

const PRIVATE =
  'This app has enrolled as private: its configuration lies on its own machine, and its telemetry does not pass through ' +
  'the service. Enroll it as cloud with a new code.';

function answerOf({ wantsUid }: Said, attended: Attended, settings: Settings | undefined): AnswerFields {
  const { offer, askFullState } = attended;
  return {
    ...(offer && {
      remoteConfig: {
        configHash: Buffer.from(offer.hash),
        config: { configMap: { '': { body: Buffer.from(offer.body()), contentType: 'text/yaml' } } },
      },
    }),
    ...(settings && attended.settings && { connectionSettings: settings.message() }),
    ...(wantsUid && {
      agentIdentification: { newInstanceUid: newInstanceUid() },
    }),
    flags: askFullState ? REPORT_FULL_STATE : 0n,
  };
}

function count({ metrics, clock }: OpampDeps, { offer, isNews, hadOlder }: Attended): void {
  metrics.opampMessageEnded(
    offer ? (isEmptied(offer) ? 'empty_offered' : 'config_offered') : isNews ? 'reported' : 'unchanged',
  );
  if (offer?.changedAt !== undefined && hadOlder) {
    metrics.revisionReceived(Math.max(0, clock.now() - offer.changedAt) / 1000);
  }
}
