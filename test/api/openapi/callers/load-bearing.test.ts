import { describe, expect, test } from 'vitest';
import { cellAt, nameOf, TABLES, type Row } from '../../../support/doors/callers-table.ts';
import { DOCUMENT_NAMES, operationsOf, readDocument, type DocumentName } from '../../../support/openapi/documents.ts';

/*
 * CONTRACT.md#callers: cells of the committed table that are written out by hand, and rules of whole columns. The
 * table is made from the operations; whoever opens one of these to another caller must say so here, too.
 */

const rowsOf = (api: DocumentName): readonly Row[] => TABLES.find((one) => one.api === api)?.rows ?? [];
const isOpen = (row: Row, caller: string): boolean => row.cells.get(caller)?.status === undefined;
const isRead = ({ method }: Row): boolean => method === 'GET';
/** The operations of a column that are open, in part too. */
const openTo = (api: DocumentName, caller: string, among: (row: Row) => boolean = () => true): readonly string[] =>
  rowsOf(api)
    .filter((row) => among(row) && isOpen(row, caller))
    .map(nameOf);

test.each(DOCUMENT_NAMES)('%s: the table has every operation of the document, each once', (api) => {
  const told = rowsOf(api).map(nameOf);
  const beside = { v1: [], device: ['POST /v1/opamp'], operator: ['GET /metrics'], panel: [] }[api];
  const documented = operationsOf(readDocument(api)).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(told.toSorted()).toEqual([...beside, ...documented].toSorted());
  expect(told.length).toBeGreaterThan(4);
});

const OPERATOR = '/operator/v1';
const PANEL = '/panel/v1';
const OPERATORS_TOKENS = ['support', 'billing', 'auditor', 'metrics', 'nobody'];
const OTHER_PEOPLE = ['support', 'auditor', 'owner', 'viewer', 'of another account'];
const TOKENS = ['token: owner', 'token: viewer', 'token: another account'];

describe('for the role operator alone', () => {
  test.each([
    `GET ${OPERATOR}/backup`,
    `POST ${OPERATOR}/keys/rotation`,
    `POST ${OPERATOR}/accounts`,
    `POST ${OPERATOR}/accounts/{accountId}/api-keys`,
    `POST ${OPERATOR}/accounts/{accountId}/api-keys/{keyId}/rotation`,
    `POST ${OPERATOR}/users`,
    `POST ${OPERATOR}/users/{userId}/reset`,
    `DELETE ${OPERATOR}/users/{userId}`,
    `PUT ${OPERATOR}/kubernetes/recovery`,
    `PATCH ${OPERATOR}/accounts/{accountId}/apps/{appId}`,
    `PATCH ${OPERATOR}/accounts/{accountId}/review-queue/{entryId}`,
  ])('%s', (operation) => {
    expect(cellAt('operator', operation, 'operator')).toEqual({});
    for (const caller of OPERATORS_TOKENS)
      expect([caller, cellAt('operator', operation, caller).status]).toEqual([caller, caller === 'nobody' ? 401 : 403]);
  });

  test.each([
    `GET ${PANEL}/backup`,
    `POST ${PANEL}/keys/rotation`,
    `POST ${PANEL}/accounts`,
    `POST ${PANEL}/users`,
    `POST ${PANEL}/users/{userId}/reset`,
    `DELETE ${PANEL}/users/{userId}`,
    `PATCH ${PANEL}/accounts/{accountId}/consents/{appId}`,
  ])('%s', (operation) => {
    expect(cellAt('panel', operation, 'operator')).toEqual({});
    for (const caller of [...OTHER_PEOPLE, ...TOKENS])
      expect([caller, cellAt('panel', operation, caller).status]).toEqual([caller, 403]);
    expect(cellAt('panel', operation, 'nobody').status).toBe(401);
  });
});

describe('what a role on the installation may change', () => {
  const isChange = (row: Row): boolean => !isRead(row) && !row.path.startsWith(`${PANEL}/me`);
  // Whoever signs in or out is no role yet, or none any more.
  const isOfRoles = (row: Row): boolean => isChange(row) && !isOpen(row, 'of another account');

  test('an auditor nothing, and neither do billing and metrics', () => {
    for (const caller of ['auditor', 'billing', 'metrics']) expect(openTo('operator', caller, isChange)).toEqual([]);
    expect(openTo('panel', 'auditor', isOfRoles)).toEqual([]);
    expect(openTo('operator', 'billing')).toEqual([`GET ${OPERATOR}/usage`]);
    expect(openTo('operator', 'metrics')).toEqual(['GET /metrics']);
  });

  test('support what disables, ends or revokes', () => {
    const keys = (root: string): readonly string[] => [
      `DELETE ${root}/accounts/{accountId}/api-keys/{keyId}/former-secret`,
      `PATCH ${root}/accounts/{accountId}/api-keys/{keyId}`,
      `DELETE ${root}/accounts/{accountId}/api-keys/{keyId}`,
    ];
    const inPart = (root: string): readonly string[] => [
      `PATCH ${root}/accounts/{accountId}`,
      `PATCH ${root}/users/{userId}`,
    ];
    expect(openTo('operator', 'support', isChange).toSorted()).toEqual(
      [...keys(OPERATOR), ...inPart(OPERATOR)].toSorted(),
    );
    const ofPanel = [
      `POST ${PANEL}/accounts/{accountId}/apps/batch`,
      `POST ${PANEL}/accounts/{accountId}/apps/{appId}/revoke`,
      `DELETE ${PANEL}/accounts/{accountId}/invitations/{linkId}`,
      `DELETE ${PANEL}/users/{userId}/sessions/{sessionId}`,
    ];
    expect(openTo('panel', 'support', isOfRoles).toSorted()).toEqual(
      [...keys(PANEL), ...inPart(PANEL), ...ofPanel].toSorted(),
    );
    for (const operation of inPart(OPERATOR)) expect(cellAt('operator', operation, 'support')).toEqual({ note: '¹' });
    for (const operation of [...inPart(PANEL), ofPanel[0] ?? ''])
      expect(cellAt('panel', operation, 'support')).toEqual({ note: '¹' });
  });

  test('an auditor reads no evidence, and no viewer the keys of members', () => {
    expect(cellAt('operator', `GET ${OPERATOR}/accounts/{accountId}/review-queue`, 'auditor').status).toBe(403);
    expect(cellAt('panel', `GET ${PANEL}/accounts/{accountId}/review-queue`, 'auditor').status).toBe(403);
    expect(cellAt('panel', `GET ${PANEL}/accounts/{accountId}/members/{userId}/api-keys`, 'viewer').status).toBe(403);
  });
});

describe('API keys', () => {
  test('a key that reads changes nothing, and one that enrolls makes apps and codes for them', () => {
    expect(openTo('v1', 'read', (row) => !isRead(row))).toEqual([]);
    expect(openTo('v1', 'read')).toEqual(['GET /v1/apps', 'GET /v1/apps/{appId}', 'GET /v1/otel-config']);
    expect(openTo('v1', 'enroll')).toEqual(['POST /v1/apps', 'POST /v1/apps/{appId}/enroll-code']);
    expect(cellAt('v1', 'POST /v1/apps/{appId}/enroll-code', 'enroll')).toEqual({ note: '²' });
    expect(openTo('v1', 'full')).toEqual(rowsOf('v1').map(nameOf));
  });
});

describe('people of accounts', () => {
  test('a viewer changes nothing of the account, and nobody of another account gets anything of it', () => {
    const isOfAccount = ({ path }: Row): boolean => path.includes('{accountId}');
    expect(openTo('panel', 'viewer', (row) => isOfAccount(row) && !isRead(row))).toEqual([]);
    for (const caller of ['of another account', 'token: another account', 'nobody'])
      expect(openTo('panel', caller, isOfAccount)).toEqual([]);
  });

  test('nobody but a person signs in, and has sessions, ways to sign in and access tokens', () => {
    for (const caller of TOKENS)
      expect(openTo('panel', caller, ({ path }) => !path.startsWith(`${PANEL}/accounts/{accountId}/`))).toEqual([]);
    expect(openTo('panel', 'nobody').every((name) => /\/(?:sign-in|links)\b/.test(name))).toBe(true);
  });

  test('a token of an owner changes apps, ends what gives access, and decides reviews', () => {
    const of = (...operations: readonly string[]): readonly string[] =>
      operations.map((operation) => operation.replace(' ', ` ${PANEL}/accounts/{accountId}`));
    expect(openTo('panel', 'token: owner', (row) => !isRead(row)).toSorted()).toEqual(
      of(
        'POST /apps',
        'POST /apps/batch',
        'POST /apps/{appId}/enroll-code',
        'POST /apps/{appId}/revoke',
        'DELETE /apps/{appId}',
        'PUT /otel-config',
        'POST /otel-config/restore',
        'DELETE /otel-config',
        'PATCH /api-keys/{keyId}',
        'DELETE /api-keys/{keyId}',
        'DELETE /api-keys/{keyId}/former-secret',
        'PATCH /review-queue/{entryId}',
        'DELETE /members/{userId}',
        'DELETE /invitations/{linkId}',
      ).toSorted(),
    );
    expect(openTo('panel', 'token: viewer', (row) => !isRead(row))).toEqual([]);
  });

  test.each([
    `POST ${PANEL}/accounts/{accountId}/api-keys`,
    `POST ${PANEL}/accounts/{accountId}/api-keys/{keyId}/rotation`,
    `POST ${PANEL}/accounts/{accountId}/invitations`,
    `PATCH ${PANEL}/accounts/{accountId}/members/{userId}`,
    `POST ${PANEL}/accounts/{accountId}/otel-config/test`,
  ])('%s needs a person who proves who it is', (operation) => {
    expect(cellAt('panel', operation, 'owner')).toEqual({});
    for (const caller of TOKENS) expect([caller, cellAt('panel', operation, caller).status]).toEqual([caller, 403]);
  });
});

test('of daemons, enrollment alone is for those that nobody knows', () => {
  expect(openTo('device', 'nobody')).toEqual(['POST /device/v1/enroll']);
});
