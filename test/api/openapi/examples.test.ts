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

/* Each example of a request, sent to a service: none of them may be refused for what it is. */

type Json = Readonly<Record<string, unknown>>;

/** The examples of these have a secret, which is another one here, or needs a provider: their schemas alone judge them. */
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

/** Sends an operation with these of its examples. */
async function send(
  name: DocumentName,
  { method, path }: { readonly method: string; readonly path: string },
  { body, query, headers }: Examples,
): Promise<Answer> {
  const words = new URLSearchParams(
    Object.entries(query).map(([field, value]): [string, string] => [field, String(value)]),
  );
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
        if (BY_SCHEMA.has(operation.operationId)) {
          const judge = APIS[name].operations.find(({ id }) => id === operation.operationId)?.body;
          expect([operation.operationId, judge?.safeParse(examples.body).error]).toEqual([
            operation.operationId,
            undefined,
          ]);
          continue;
        }
        const answer = await send(name, { method, path }, examples);
        if (answer.status >= 400) {
          const { error } = answer.body as { error?: { code: string; message: string } };
          answers[`${operation.operationId}${what}`] = `${answer.status} ${error?.code}`;
        }
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
