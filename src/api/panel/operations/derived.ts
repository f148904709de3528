import type * as z from 'zod';
import type { Known } from '../../contract/answers.ts';
import type { Answers, Method, Operation } from '../../contract/operation.ts';
import * as history from '../../contract/panel/history.ts';
import * as operations from '../../contract/panel/operator.ts';
import { atPanel } from '../../contract/panel/derived.ts';
import {
  listDeliveries as listDeliveriesOperation,
  readAccountRollout as readAccountRolloutOperation,
} from '../../contract/panel/configuration.ts';
import {
  changeAccount,
  changeAccountApp,
  createAccount,
  listAccountApps,
  listAccounts,
  readAccount,
} from '../../operator/accounts.ts';
import { backupOf } from '../../operator/backup.ts';
import {
  changeApiKey,
  createApiKey,
  endFormerSecret,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '../../operator/api-keys.ts';
import { verifyAudit, verifyServiceAudit } from '../../operator/audit-verification.ts';
import { readKeys, rotateKeys } from '../../operator/keys.ts';
import { readRateLimits } from '../../operator/rate-limits.ts';
import { decideReview } from '../../operator/review-queue.ts';
import { rolloutBody } from '../../operator/rollout.ts';
import type { OperatorCall, OperatorServices } from '../../operator/route.ts';
import { readUsage } from '../../operator/usage.ts';
import { changeUser, createUser, deleteUser, listUserApiKeys, listUsers, resetUser } from '../../operator/users.ts';
import type { Route, RouteOptions } from '../../serve/route.ts';
import { ROUTES as V1_ROUTES } from '../../v1/gateway.ts';
import type { Services, V1Call } from '../../v1/operations/route.ts';
import { MUCH_WORK } from '../request/much-work.ts';
import { handle, panelRoute, type PanelRoute } from '../request/route.ts';
import { accountOf } from './account.ts';

/* The operations that the panel has from other APIs: the same handlers, for those who are signed in. */

/** The operations of `/v1` that name the panel, on the account in the path; without the preconditions of H22. */
export const FROM_V1 = V1_ROUTES.flatMap((route: Route<V1Call, Services>) =>
  route.panel === undefined
    ? []
    : panelRoute(atPanel(route, route.panel, { headers: [] }), async (request, services) => {
        const account = await accountOf(request);
        return await route.handle({ ...request, account, headers: {} }, services);
      }),
);

/** An operation of the operator API. */
const asOperator = <Shape extends z.core.$ZodShape, A extends Answers, Query extends z.ZodObject>(
  operation: Operation<Shape, A, string, Method, Query> & Known<A>,
  route: Route<OperatorCall, OperatorServices, Shape, A, Query>,
  options: RouteOptions = {},
): PanelRoute<Shape, A, Query> => handle(operation, { ...deadlineOf(route), ...options })(route.handle);

/** The operator API knows no other of the options. */
const deadlineOf = ({ deadlineMs }: RouteOptions): RouteOptions => (deadlineMs === undefined ? {} : { deadlineMs });

export const verifyAccountAudit = asOperator(history.verifyAccountAudit, verifyAudit, MUCH_WORK);
export const verifyOperatorAudit = asOperator(history.verifyOperatorAudit, verifyServiceAudit, MUCH_WORK);
export const decideOnReview = asOperator(history.decideOnReview, decideReview);
export const listAccountKeys = asOperator(history.listAccountKeys, listApiKeys);
export const createAccountKey = asOperator(history.createAccountKey, createApiKey);
export const rotateAccountKey = asOperator(history.rotateAccountKey, rotateApiKey);
export const endAccountKeyOverlap = asOperator(history.endAccountKeyOverlap, endFormerSecret);
export const changeAccountKey = asOperator(history.changeAccountKey, changeApiKey);
export const revokeAccountKey = asOperator(history.revokeAccountKey, revokeApiKey);

export const createPanelAccount = asOperator(operations.createPanelAccount, createAccount);
export const listPanelAccounts = asOperator(operations.listPanelAccounts, listAccounts);
export const readPanelAccount = asOperator(operations.readPanelAccount, readAccount);
export const changePanelAccount = asOperator(operations.changePanelAccount, changeAccount);
export const listConsents = asOperator(operations.listConsents, listAccountApps);
export const changeConsent = asOperator(operations.changeConsent, changeAccountApp);
export const readPanelLimits = asOperator(operations.readPanelLimits, readRateLimits);
export const readPanelKeys = asOperator(operations.readPanelKeys, readKeys);
export const rotatePanelKeys = asOperator(operations.rotatePanelKeys, rotateKeys);
export const readPanelUsage = asOperator(operations.readPanelUsage, readUsage, MUCH_WORK);
export const createPanelUser = asOperator(operations.createPanelUser, createUser);
export const listPanelUsers = asOperator(operations.listPanelUsers, listUsers);
export const changePanelUser = asOperator(operations.changePanelUser, changeUser);
export const deletePanelUser = asOperator(operations.deletePanelUser, deleteUser);
export const listPanelUserKeys = asOperator(operations.listPanelUserKeys, listUserApiKeys);
export const resetPanelUser = asOperator(operations.resetPanelUser, resetUser);

/** A browser saves it. */
export const readPanelBackup = handle(
  operations.readPanelBackup,
  MUCH_WORK,
)((request, { backups }) =>
  backupOf(request, backups, ['Content-Disposition', 'attachment; filename="muster.backup"']),
);

/** GET /panel/v1/accounts/{accountId}/rollout/apps: of the same read as the rollout. */
export const listDeliveries = handle(listDeliveriesOperation)(async ({ accountId }, { watched }) => {
  const { revision, deliveries } = await watched.deliveries(accountId);
  const apps = deliveries.map(({ state, ...daemon }) => ({
    ...daemon,
    state: state === 'stale' ? ('silent' as const) : state,
  }));
  return { status: 200, body: { revision, apps } };
});

/** The rollout of an account: read once for all who watch it. */
export const readAccountRollout = handle(readAccountRolloutOperation)(async ({ accountId }, { watched }) => {
  const { states, ...rollout } = await watched.rollout(accountId);
  return { status: 200, body: { ...rolloutBody(rollout), states } };
});
