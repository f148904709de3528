import { describe, expect, test } from 'vitest';
import { asJson, asOtherFormat, jsonOfList } from '../../../src/api/contract/answers.ts';
import { enrollDevice } from '../../../src/api/contract/device/enrollment.ts';
import { createApiKey, listApiKeys } from '../../../src/api/contract/operator/api-keys.ts';
import { readUsage } from '../../../src/api/contract/operator/usage.ts';
import { operation, type Operation } from '../../../src/api/contract/operation.ts';
import { readOverview } from '../../../src/api/contract/panel/account.ts';
import { readSignIn } from '../../../src/api/contract/panel/sign-in.ts';
import { deleteApp, issueEnrollCode, readApp, revokeApp } from '../../../src/api/contract/v1/apps.ts';
import { readOtelConfig } from '../../../src/api/contract/v1/otel-config.ts';
import { handle as handleDevice } from '../../../src/api/device/route.ts';
import { handle as handleOperator, type OperatorCall, type OperatorServices } from '../../../src/api/operator/route.ts';
import type { PanelContext } from '../../../src/api/panel/admission/open-call.ts';
import { readMe } from '../../../src/api/panel/operations/me.ts';
import { readSignIn as readSignInRoute } from '../../../src/api/panel/operations/sign-in.ts';
import {
  handle as handlePanel,
  handleOpen,
  type OpenCall,
  type PanelServices,
} from '../../../src/api/panel/request/route.ts';
import { operationEndpoint, type Checks } from '../../../src/api/serve/operation-endpoint.ts';
import { handle } from '../../../src/api/v1/operations/route.ts';
import type { AnswerTo, AskedRoute, Asking } from '../../../web/api/operations.ts';

/* The type checker refuses an expected error that does not come: so each of these lines is a test. */

const PENDING = { appId: '', name: '', status: 'pending', platform: '', agentVersion: '', createdAt: '' } as const;
const APP = { ...PENDING, lastSeenAt: null };
const KEY = { keyId: '', name: '', createdAt: '', expiresAt: null, access: 'full', allowedCidrs: [] } as const;
const ENROLLED = { appId: '', status: 'active' } as const;

describe('the compiler judges the answer of a handler by the schemas of its operation', () => {
  test('of /v1', () => {
    const routes = [
      handle(issueEnrollCode)(() => ({ status: 201, body: { enrollCode: '', expiresAt: '' } })),
      // @ts-expect-error `expiresAt` is missing.
      handle(issueEnrollCode)(() => ({ status: 201, body: { enrollCode: '' } })),
      // @ts-expect-error `expiresAt` is a text.
      handle(issueEnrollCode)(() => ({ status: 201, body: { enrollCode: '', expiresAt: 5 } })),
      // @ts-expect-error A creation is answered 201.
      handle(issueEnrollCode)(() => ({ status: 200, body: { enrollCode: '', expiresAt: '' } })),
      handle(revokeApp)(() => ({ status: 200, body: { appId: '', status: 'revoked' } })),
      // @ts-expect-error The status is one of a closed set.
      handle(revokeApp)(() => ({ status: 200, body: { appId: '', status: 'revokd' } })),
      handle(deleteApp)(() => ({ status: 204 })),
      // @ts-expect-error 204 has no body.
      handle(deleteApp)(() => ({ status: 204, body: {} })),
      handle(readOtelConfig)(() => ({ status: 304 })),
      // @ts-expect-error 200 has a body where 304 has none.
      handle(readOtelConfig)(() => ({ status: 200 })),
    ];
    expect(new Set(routes.map(({ id }) => id)).size).toBe(4);
  });

  test('that was rendered before', () => {
    const routes = [
      handle(readApp)(() => ({ status: 200, body: asJson(APP) })),
      // @ts-expect-error `lastSeenAt` is missing.
      handle(readApp)(() => ({ status: 200, body: asJson(PENDING) })),
      // @ts-expect-error A list is no app.
      handle(readApp)(() => ({ status: 200, body: jsonOfList('apps', [asJson(APP)]) })),
      // @ts-expect-error A text may be anything.
      handle(readApp)(() => ({ status: 200, body: JSON.stringify(APP) })),
    ];
    expect(routes).toHaveLength(4);
    expect(String(jsonOfList('apps', [asJson({ a: 1 }), asJson({ a: 2 })]))).toBe('{"apps":[{"a":1},{"a":2}]}');
  });

  test('of the operator API, the panel and the device plane', () => {
    const routes = [
      handleOperator(createApiKey)(() => ({ status: 201, body: { ...KEY, apiKey: '' } })),
      // @ts-expect-error `apiKey` is missing.
      handleOperator(createApiKey)(() => ({ status: 201, body: KEY })),
      handleOperator(listApiKeys)(() => ({
        status: 200,
        body: { apiKeys: [{ ...KEY, formerExpiresAt: null, lastUsedAt: null, calls7d: 0 }] },
      })),
      // @ts-expect-error `lastUsedAt` is missing.
      handleOperator(listApiKeys)(() => ({ status: 200, body: { apiKeys: [{ ...KEY, formerExpiresAt: null }] } })),
      handleOperator(readUsage)(() => ({ status: 200, body: asOtherFormat('') })),
      // @ts-expect-error A text may be of any format.
      handleOperator(readUsage)(() => ({ status: 200, body: '' })),
      // @ts-expect-error An object is its JSON.
      handleOperator(readUsage)(() => ({ status: 200, body: {} })),
      // @ts-expect-error The overview has more.
      handlePanel(readOverview)(() => ({ status: 200, body: { accountId: '' } })),
      handleOpen(readSignIn)(() => ({ status: 200, body: { password: true } })),
      // @ts-expect-error `password` says whether there are passwords.
      handleOpen(readSignIn)(() => ({ status: 200, body: { password: 'yes' } })),
      handleDevice(enrollDevice)(() => ({ status: 200, body: { ...ENROLLED, pollIntervalSeconds: 30 } })),
      // @ts-expect-error The interval is a number.
      handleDevice(enrollDevice)(() => ({ status: 200, body: { ...ENROLLED, pollIntervalSeconds: '30' } })),
    ];
    expect(routes).toHaveLength(12);
  });
});

test('the compiler judges an operation, and gives none whose answers it does not know a handler', () => {
  const about = { id: 'x', method: 'get', path: '/v1/x', summary: '', description: '' } as const;
  const known: Operation = operation({ ...about, answers: [{ status: 204, description: '' }] });
  const operations = [
    // @ts-expect-error `headers` is misspelt.
    operation({ ...about, answers: [{ status: 204, description: '', header: ['ETag'] }] }),
    // @ts-expect-error Nothing is known of its answers any more.
    handle(known)(() => ({ status: 999, body: '' })),
    // @ts-expect-error Nothing is known of its answer.
    handle(operation({ ...about, answers: [known.answers[0]] }))(() => ({ status: 204 })),
  ];
  expect(operations).toHaveLength(3);
});

test('the compiler judges a call of the panel by its operation', () => {
  const ask = <One extends AskedRoute>(route: One, ...[asked]: Asking<One>): object => ({ route, asked });
  const asked = [
    ask('GET /me'),
    ask('POST /accounts/:accountId/apps', { accountId: '', body: { name: '' } }),
    // @ts-expect-error There is no such path.
    ask('POST /accounts/:accountId/appz', { accountId: '', body: { name: '' } }),
    // @ts-expect-error The account is missing.
    ask('POST /accounts/:accountId/apps', { body: { name: '' } }),
    // @ts-expect-error The body has no such field.
    ask('POST /accounts/:accountId/apps', { accountId: '', body: { title: '' } }),
    // @ts-expect-error A name is a text.
    ask('POST /accounts/:accountId/apps', { accountId: '', body: { name: 1 } }),
    // @ts-expect-error The query has no such parameter.
    ask('GET /accounts', { query: { limits: 1 } }),
    // @ts-expect-error The body of a sign-in is needed.
    ask('POST /sign-in/password'),
    // @ts-expect-error So is the month of a usage.
    ask('GET /accounts/:accountId/usage', { accountId: '' }),
    // @ts-expect-error A status is one of a closed set.
    ask('GET /accounts/:accountId/review-queue', { accountId: '', query: { status: 'opened' } }),
    // @ts-expect-error A stream has no end that an answer could wait for.
    ask('GET /events'),
  ];
  expect(asked).toHaveLength(11);
  const codeOf = ({ enrollCode }: AnswerTo<'POST /accounts/:accountId/apps'>): string => enrollCode;
  // @ts-expect-error The answer has no such field.
  const secretOf = (created: AnswerTo<'POST /accounts/:accountId/apps'>): unknown => created.secret;
  expect([codeOf, secretOf]).toHaveLength(2);
});

test('a route stands behind the checks of its own listener alone', () => {
  const all = (
    open: Checks<PanelContext, OpenCall, PanelServices>,
    ops: Checks<string, OperatorCall, OperatorServices>,
  ) => [
    operationEndpoint(readSignInRoute, open),
    // @ts-expect-error A signed-in user is asked for.
    operationEndpoint(readMe, open),
    // @ts-expect-error It is no operation of the operator API.
    operationEndpoint(readMe, ops),
  ];
  expect(all).toBeTypeOf('function');
});
