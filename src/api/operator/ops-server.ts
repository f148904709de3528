import { setTimeout as pause } from 'node:timers/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import { SharedRuns } from '../../concurrency/shared-runs.ts';
import type { OperatorToken } from '../../domain/replicas/operator-tokens.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Operation } from '../contract/operation.ts';
import { takesGzip } from '../headers/accepted-encoding.ts';
import { preferredType } from '../headers/preferred-type.ts';
import type { Exchange, ExchangeDeps } from '../http/exchange.ts';
import { whileJudged } from '../serve/judged-stream.ts';
import { operationEndpoint, type AuthorizeRequest, type Checks } from '../serve/operation-endpoint.ts';
import { createRequestListener, type Endpoint } from '../serve/request-listener.ts';
import { refuseBeyondRole } from '../serve/role-rights.ts';
import { isUnder } from '../serve/targets.ts';
import {
  changeAccount,
  changeAccountApp,
  createAccount,
  listAccountApps,
  listAccounts,
  readAccount,
} from './accounts.ts';
import { changeApiKey, createApiKey, endFormerSecret, listApiKeys, revokeApiKey, rotateApiKey } from './api-keys.ts';
import { verifyAudit, verifyServiceAudit } from './audit-verification.ts';
import { listAudit, listServiceAudit } from './audit.ts';
import { operatorAuthentication, type Operator } from './authenticate.ts';
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
  /** `token`: `/metrics` asks for an operator token; `none`: it is for everybody. */
  readonly metricsAuth: 'none' | 'token';
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
  endFormerSecret,
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

/** The scrape of Prometheus, with the roles beside `operator` that are for it. */
export const METRICS = {
  method: 'get',
  path: '/metrics',
  roles: { support: true, auditor: true, metrics: true },
} as const satisfies Pick<Operation, 'method' | 'path' | 'roles'>;

/** The files that are served without a credential, beside the probes. */
export const PUBLIC = PUBLIC_PATHS.map((path) => ({ method: 'get', path }) as const);

/** The listener for the platform team: probes and metrics for machines, `/operator/v1` for the operator's token. */
export function createOpsServer(deps: OpsDeps): RequestListener {
  const operatorOf = operatorAuthentication(deps.operatorTokens);
  const renderings = new SharedRuns(() => rendered(deps.registry), pauseAfterRendering);
  const checks: Checks<OpsContext, OperatorCall, OperatorServices> = {
    authorize,
    brokenBody: 'invalid_request',
    transfer: ({ request }, _call, route, reply) => whileJudged(reply, async () => judgeAgain(request, route)),
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
    const operator = operatorOf(exchange.request);
    exchange.authenticated(operator.actor);
    return operator;
  }

  /** @throws NotAuthenticated where the token has been withdrawn since; Refusal where its role has changed */
  function judgeAgain(request: IncomingMessage, { roles }: Operation): void {
    refuseBeyondRole(operatorOf(request), roles);
  }

  function authorize(
    { exchange, context: operator }: AuthorizeRequest<OpsContext>,
    { roles }: Operation,
  ): (body: object) => OperatorCall {
    if (operator === undefined) throw new Refusal('invalid_token');
    const { request } = exchange;
    refuseBeyondRole(operator, roles);
    return (body) => {
      // The token may have been withdrawn, or its role changed, while the body came.
      const present = operatorOf(request);
      const { actor } = present;
      refuseBeyondRole(present, roles)(body);
      return {
        origin: exchange.origin(actor),
        accepts: (types) => preferredType(request, types),
        exporting: async (what, detail, page) => {
          if (request.method === 'HEAD') return;
          await deps.services.auditExport(what, exchange.origin(actor), detail, page);
        },
        inTime: (work) => exchange.inTime(work),
      };
    };
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
    if (deps.metricsAuth === 'token') {
      const operator = operatorOf(exchange.request);
      exchange.authenticated(operator.actor);
      refuseBeyondRole(operator, METRICS.roles);
    }
    const format = formatOf(exchange.request.headers.accept);
    const compressed = takesGzip(exchange.request);
    const headers = ['Content-Type', CONTENT_TYPES[format], 'Vary', 'Accept, Accept-Encoding'];
    if (compressed) headers.push('Content-Encoding', 'gzip');
    const all = await renderings.run();
    const body = compressed ? await all.compressed(format) : all.body(format);
    exchange.reply({ status: 200, body, headers });
  }
}

/** The holder of the token; undefined at the probes and files, which anyone may ask for. */
type OpsContext = Operator | undefined;

/**
 * A rendering keeps the event loop for tens of milliseconds, and needs no token unless one is configured: scrapes
 * without end get a fifth of its time. One that comes after the pause is served at once.
 */
const pauseAfterRendering = (ranMs: number): Promise<unknown> =>
  pause(Math.min(1000, 4 * ranMs), undefined, { ref: false });

/** One rendering for all who wait for it, however slowly each takes it. */
const rendered = async (registry: Registry): Promise<Exposition> => new Exposition(await registry.metrics());
