import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { APIS } from '../../../src/api/openapi/apis.ts';
import {
  DOCUMENT_NAMES,
  operationsOf,
  readDocument,
  type DocumentName,
  type OperationObject,
  type Parameter,
} from '../../support/openapi/documents.ts';
import { pathOf } from '../../support/panel/operation-request.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { setOtel } from '../../support/service/daemon.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant, type Answer } from '../../support/service/muster.ts';

/* Each example of a request, judged by its schema and sent to a service: none of them may be refused for what it is. */

type Json = Readonly<Record<string, unknown>>;

/** The bodies of these have a secret, which is another one here, or need a provider: their schemas alone judge them. */
const BY_SCHEMA: ReadonlySet<string> = new Set([
  'acceptLink',
  'addPasskey',
  'changePassword',
  'enrollDevice',
  'linkProvider',
  'proveByPasskey',
  'proveByPassword',
  'readLink',
  'signInByPasskey',
  'signInByPassword',
]);

/** The refusals that say nothing against an example, by operation, with the parameter where it is that of one alone. */
const REFUSED: Readonly<Record<string, string>> = {
  // The service has no provider.
  createAccessToken: '404 not_found',
  endProviderSignIn: '404 not_found',
  proveByProvider: '404 not_found',
  signInByProvider: '404 not_found',
  signOutByProvider: '404 not_found',
  // The example names another account.
  'readUsage accountId': '404 not_found',
  // The tag is that of another configuration.
  'purgeOtelConfig If-Match': '412 precondition_failed',
  'storeOtelConfig If-Match': '412 precondition_failed',
  storeConfiguration: '409 changed_meanwhile',
  restoreConfiguration: '409 changed_meanwhile',
  // The configuration is purged by a request before, and no address is called.
  testCollector: '409 conflict',
  // The login has its user since the request before.
  createUser: '409 conflict',
  // The user has no passkey.
  beginPasskeyProof: '409 conflict',
};

/** The refusal that an operation may have. One on a record of the account is asked for a record that is not there. */
const mayBeRefused = (path: string, id: string, what: string): string | undefined =>
  REFUSED[`${id}${what}`] ?? REFUSED[id] ?? (/\{(?!accountId\})/.test(path) ? '404 not_found' : undefined);

let panel: PanelMuster;
let accountId: string;
let bearer: Readonly<Record<Exclude<DocumentName, 'panel'>, string>>;

beforeAll(async () => {
  panel = await panelMuster();
  const owner = await tenant(panel.muster);
  accountId = owner.accountId;
  // The example of an acknowledgement is of the seventh revision.
  for (let revision = 1; revision <= 7; revision += 1) {
    await setOtel(panel.muster, owner.apiKey, { endpoint: `https://${revision}.example.com` });
  }
  const credential = await enroll(panel.muster, await createApp(panel.muster, owner.apiKey));
  bearer = { v1: owner.apiKey, device: credential, operator: OPERATOR_TOKEN };
});
afterAll(async () => {
  await panel[Symbol.asyncDispose]();
});

/** A query as it is sent. */
const inWords = (query: Json): Record<string, string> =>
  Object.fromEntries(Object.entries(query).map(([field, value]) => [field, String(value)]));

/** The faults that the schemas of an operation find in its examples; an example without a schema is a fault. */
function faultsOf(name: DocumentName, id: string, { body, query }: Examples): string[] {
  const operation = APIS[name].operations.find((one) => one.id === id);
  return [
    ...(body === undefined ? [] : [operation?.body?.safeParse(body) ?? NO_SCHEMA]),
    ...(Object.keys(query).length === 0 ? [] : [operation?.query?.safeParse(inWords(query)) ?? NO_SCHEMA]),
  ].flatMap(({ error }) => (error ? [error.message] : []));
}
const NO_SCHEMA = { error: new Error('no schema') };

/** Sends an operation with these of its examples. */
async function send(
  name: DocumentName,
  { method, path }: { readonly method: string; readonly path: string },
  { body, query, headers }: Examples,
): Promise<Answer> {
  const words = new URLSearchParams(inWords(query));
  const at = `${pathOf(path.replaceAll(/\{(\w+)\}/g, ':$1'), accountId)}${words.size > 0 ? `?${words.toString()}` : ''}`;
  const request = {
    method: method.toUpperCase(),
    headers: headers as Readonly<Record<string, string>>,
    ...(body !== undefined && { body: body as object }),
  };
  // Some of them end the session.
  if (name === 'panel') return await ask(panel, await signedIn(panel.store, { operator: true }), at, request);
  const { api, device, ops } = panel.muster;
  const url = { v1: api, device, operator: ops }[name];
  return await call(`${url}${at}`, { ...request, token: bearer[name] });
}

describe.each(DOCUMENT_NAMES)('the document of %s', (name) => {
  test('has an example of each parameter and body that its own operation takes', async () => {
    const answers: Record<string, string> = {};
    for (const { path, method, operation } of operationsOf(readDocument(name))) {
      // Its answer has no end.
      if (operation.operationId === 'readEvents') continue;
      for (const { what, ...examples } of examplesOf(operation)) {
        const { operationId: id } = operation;
        expect([id, ...faultsOf(name, id, examples)]).toEqual([id]);
        if (BY_SCHEMA.has(id)) {
          expect([id, examples.body]).toEqual([id, expect.anything()]);
          continue;
        }
        const { status, body } = await send(name, { method, path }, examples);
        if (status < 400) continue;
        const answer = `${status} ${(body as { error?: { code: string } }).error?.code}`;
        if (answer !== mayBeRefused(path, id, what)) answers[`${id}${what}`] = answer;
      }
    }
    expect(answers).toEqual({});
  });
});

interface Examples {
  readonly body?: unknown;
  readonly query: Json;
  readonly headers: Json;
}

/** The example of the body with what the operation needs, and each example of a parameter beside it. */
function examplesOf({ parameters = [], requestBody }: OperationObject): (Examples & { readonly what: string })[] {
  const body = requestBody?.content['application/json']?.example;
  const of = (where: Parameter['in']) => parameters.filter((parameter) => parameter.in === where);
  const first = (some: readonly Parameter[]): Json =>
    Object.fromEntries(some.map(({ name, schema }) => [name, schema.examples?.[0]]));
  const query = first(of('query').filter(({ required }) => required));
  // Every request may have one.
  const headers = first(of('header').filter(({ name }) => name === 'X-Request-Id'));
  const least = { ...(body !== undefined && { body }), query, headers };
  const each = (where: Parameter['in']) =>
    of(where).flatMap(({ name, schema }) => (schema.examples ?? []).map((value) => ({ name, value })));
  return [
    { what: '', ...least },
    ...each('query').map(({ name, value }) => ({ what: ` ${name}`, ...least, query: { ...query, [name]: value } })),
    ...each('header').map(({ name, value }) => ({
      what: ` ${name}`,
      ...least,
      headers: { ...headers, [name]: value },
    })),
  ];
}
