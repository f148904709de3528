import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { SharedRuns } from '../../concurrency/shared-runs.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import { Refusal } from '../../domain/refusal.ts';
import { takesGzip } from '../headers/accepted-encoding.ts';
import { preferredType } from '../headers/preferred-type.ts';
import { NotAuthenticated } from '../http/errors.ts';
import type { Exchange, ExchangeDeps } from '../http/exchange.ts';
import { bearerOf } from '../http/request-headers.ts';
import { whileJudged } from '../serve/judged-stream.ts';
import { operationEndpoint, type AuthorizeRequest, type Checks } from '../serve/operation-endpoint.ts';
import { createRequestListener, type Endpoint } from '../serve/request-listener.ts';
import { isUnder } from '../serve/targets.ts';
import {
  changeAccount,
  changeAccountApp,
  createAccount,
  listAccountApps,
  listAccounts,
  readAccount,
} from './accounts.ts';
import { changeApiKey, createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys.ts';
import { verifyAudit, verifyServiceAudit } from './audit-verification.ts';
import { listAudit, listServiceAudit } from './audit.ts';
import { readBackup } from './backup.ts';
import { CONTENT_TYPES, Exposition, formatOf } from './exposition.ts';
import { readKeys, rotateKeys } from './keys.ts';
import { allowRecovery, listResourceBindings } from './kubernetes.ts';
import { PUBLIC_PATHS, type PublicFiles } from './public-files.ts';
import { readRateLimits } from './rate-limits.ts';
import { decideReview, listReviewQueue } from './review-queue.ts';
import { listRollouts, readRollout } from './rollout.ts';
import type { OperatorCall, OperatorServices } from './route.ts';
import { readUsage } from './usage.ts';
import { changeUser, createUser, deleteUser, listUserApiKeys, listUsers, resetUser } from './users.ts';

/** The services and checks that the ops listener uses. */
interface OpsDeps extends ExchangeDeps {
  /**
   * The tokens that are valid at present, as another list whenever they change: the old and the new token both work
   * while they are changed.
   */
  readonly operatorTokens: () => readonly OperatorToken[];
  readonly registry: Registry;
  /** Tells in words why the replica must not serve; undefined when it is ready. */
  readonly unready: () => string | undefined;
  /** Tells in words what is wrong although the replica serves; undefined when nothing is. */
  readonly degraded: () => string | undefined;
  readonly services: OperatorServices;
  readonly publicFiles: PublicFiles;
}

/** The operations of `/operator/v1`. */
export const OPERATIONS = [
  createAccount,
  listAccounts,
  readAccount,
  changeAccount,
  listAccountApps,
  changeAccountApp,
  createApiKey,
  listApiKeys,
  rotateApiKey,
  changeApiKey,
  revokeApiKey,
  listAudit,
  verifyAudit,
  listServiceAudit,
  verifyServiceAudit,
  readRollout,
  listRollouts,
  listReviewQueue,
  decideReview,
  readKeys,
  rotateKeys,
  readUsage,
  readRateLimits,
  createUser,
  listUsers,
  changeUser,
  deleteUser,
  listUserApiKeys,
  resetUser,
  listResourceBindings,
  allowRecovery,
  readBackup,
] as const;

const PROBE_PATHS = ['/livez', '/readyz', '/metrics'] as const;
export const PROBES = PROBE_PATHS.map((path) => ({ method: 'get', path }) as const);

/** The files that are served without a credential, beside the probes. */
export const PUBLIC = PUBLIC_PATHS.map((path) => ({ method: 'get', path }) as const);

/** The listener for the platform team: probes and metrics for machines, `/operator/v1` for the operator's token. */
export function createOpsServer(deps: OpsDeps): RequestListener {
  const actorOf = operatorCheck(deps.operatorTokens);
  const renderings = new SharedRuns(() => rendered(deps.registry), pauseAfterRendering);
  const checks: Checks<OpsContext, OperatorCall, OperatorServices> = {
    authorize,
    brokenBody: 'invalid_request',
    transfer: ({ request }, _call, _route, reply) => whileJudged(reply, async () => judgeAgain(request)),
    services: deps.services,
  };
  const plain = (path: string, answer: (exchange: Exchange) => MaybePromise<void>): Endpoint<OpsContext> => ({
    method: 'get',
    path,
    answer: ({ exchange }) => answer(exchange),
  });
  const probes: Readonly<Record<(typeof PROBE_PATHS)[number], (exchange: Exchange) => MaybePromise<void>>> = {
    '/livez': (exchange) => exchange.reply({ status: 200, body: { status: 'ok' } }),
    '/readyz': readiness,
    '/metrics': metrics,
  };
  const endpoints = [
    ...PROBE_PATHS.map((path) => plain(path, probes[path])),
    ...PUBLIC_PATHS.map((path) => plain(path, (exchange) => deps.publicFiles[path].send(exchange))),
    ...OPERATIONS.map((route) => operationEndpoint(route, checks)),
  ];
  return createRequestListener({ name: 'ops', beforeRouting, endpoints }, deps);

  function beforeRouting(exchange: Exchange): OpsContext {
    if (!isUnder('/operator/v1', exchange.request)) return undefined;
    const { token } = bearerOf(exchange.request);
    const actor = actorOf(token);
    if (actor === undefined) {
      const reason = token === undefined ? 'malformed' : 'wrong_secret';
      throw new NotAuthenticated('invalid_token', { credential: 'operator_token', reason });
    }
    exchange.authenticated(actor);
    return actor;
  }

  /** @throws Refusal `invalid_token` where the token has been withdrawn since */
  function judgeAgain(request: IncomingMessage): void {
    if (actorOf(bearerOf(request).token) === undefined) throw new Refusal('invalid_token');
  }

  function authorize({ exchange, context: actor }: AuthorizeRequest<OpsContext>): () => OperatorCall {
    if (actor === undefined) throw new Refusal('invalid_token');
    const { request } = exchange;
    return () => ({
      origin: exchange.origin(actor),
      accepts: (types) => preferredType(request, types),
      exporting: async (what, detail, page) => {
        if (request.method === 'HEAD') return;
        await deps.services.auditExport(what, exchange.origin(actor), detail, page);
      },
      inTime: (work) => exchange.inTime(work),
    });
  }

  function readiness(exchange: Exchange): void {
    const reason = deps.unready();
    // This is not an error of the API but the response to a probe, read by a kubelet or a load balancer.
    const degraded = deps.degraded();
    const body = { status: 'ready', ...(degraded !== undefined && { degraded }) };
    if (reason === undefined) exchange.reply({ status: 200, body });
    else exchange.reply({ status: 503, body: { status: 'not ready', reason } });
  }

  async function metrics(exchange: Exchange): Promise<void> {
    const format = formatOf(exchange.request.headers.accept);
    const compressed = takesGzip(exchange.request);
    const headers = ['Content-Type', CONTENT_TYPES[format], 'Vary', 'Accept, Accept-Encoding'];
    if (compressed) headers.push('Content-Encoding', 'gzip');
    const all = await renderings.run();
    const body = compressed ? await all.compressed(format) : all.body(format);
    exchange.reply({ status: 200, body, headers });
  }
}

/** The operator, as the audit names it; undefined at the probes and files, which anyone may ask for. */
type OpsContext = string | undefined;

/**
 * A rendering keeps the event loop for tens of milliseconds, and no token is asked for it: scrapes without end get a
 * fifth of its time. One that comes after the pause is served at once.
 */
const pauseAfterRendering = (ranMs: number): Promise<unknown> =>
  pause(Math.min(1000, 4 * ranMs), undefined, { ref: false });

/** One rendering for all who wait for it, however slowly each takes it. */
const rendered = async (registry: Registry): Promise<Exposition> => new Exposition(await registry.metrics());

/**
 * Compares digests, which have one length whatever was sent, in constant time and with every token.
 * @returns the actor that a token stands for, as the audit names it; undefined for a wrong one
 */
function operatorCheck(tokens: () => readonly OperatorToken[]): (token: string | undefined) => string | undefined {
  const digest = (token: string): Buffer => createHash('sha256').update(token).digest();
  const digestsOf = (list: readonly OperatorToken[]) =>
    list.map(({ name, secret }) => ({
      actor: name === undefined ? 'operator' : `operator:${name}`,
      known: digest(secret.reveal()),
    }));
  let list = tokens();
  let valid = digestsOf(list);
  return (token) => {
    const present = tokens();
    if (present !== list) [list, valid] = [present, digestsOf(present)];
    const given = digest(token ?? '');
    const matches = valid.map(({ known }) => timingSafeEqual(known, given));
    return token === undefined ? undefined : valid[matches.indexOf(true)]?.actor;
  };
}
