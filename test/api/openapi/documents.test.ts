import { describe, expect, test } from 'vitest';
import {
  API_NAMES,
  DOCUMENT_NAMES,
  operationsOf,
  pointerPart,
  readDocument,
  type ApiName,
  type Document,
  type Header,
  type Media,
  type Schema,
} from '../../support/openapi/documents.ts';
import { Schemas } from '../../support/openapi/schemas.ts';
import { codesIn, contract, rulesOf } from '../../support/repository/contract.ts';
import { tablesOf } from '../../support/security/threat-model.ts';

/* What each document says is whole, fits itself, and is what docs/CONTRACT.md says. */

interface Value {
  /** A JSON pointer, from the root of the document, to what the value is an example of. */
  readonly pointer: string;
  readonly value: unknown;
}

describe.each(API_NAMES)('the document of %s', (name) => {
  const document = readDocument(name);
  const operations = operationsOf(document);
  const fields = fieldsOf(document);

  test('has operations, each with its own id, a summary and a description', () => {
    expect(operations.length).toBeGreaterThanOrEqual(4);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const silent = operations.filter(
      ({ operation }) => !operation.summary || operation.description?.endsWith('.') !== true,
    );
    expect(silent.map(({ operation }) => operation.operationId)).toEqual([]);
  });

  test('has a description and an example of each field, parameter and header', () => {
    expect(fields.length).toBeGreaterThan(30);
    // A reference has the description of its schema.
    const silent = fields.filter(({ schema, description }) => !(schema.description ?? description ?? schema.$ref));
    expect(silent.map(({ pointer }) => pointer)).toEqual([]);
    const bare = fields.filter(({ schema, example }) => !hasExample(schema) && example === undefined);
    expect(bare.map(({ pointer }) => pointer)).toEqual([]);
  });

  test('has no limit of a field that says nothing about its type', () => {
    const ofType = {
      string: ['pattern', 'minLength', 'maxLength'],
      number: ['minimum', 'maximum'],
      integer: ['minimum', 'maximum'],
      array: ['minItems', 'maxItems'],
    };
    const limits = new Set(Object.values(ofType).flat());
    const idle = fields.flatMap(({ pointer, schema }) => {
      const useful = Object.entries(ofType).find(([type]) => type === schema.type)?.[1] ?? [];
      const others = Object.keys(schema).filter((keyword) => limits.has(keyword) && !useful.includes(keyword));
      return others.map((keyword) => `${pointer}/${keyword}`);
    });
    expect(idle).toEqual([]);
  });

  test('has a sample of each operation by curl and by the client', () => {
    const labels = operations.map(({ operation }) => operation['x-codeSamples'].map(({ label }) => label));
    expect(labels.filter((one) => !one.includes('curl') || !one.includes('TypeScript'))).toEqual([]);
  });

  test('has no example that its schema refuses', () => {
    const schemas = new Schemas(document, 'closed');
    const examples = [...fields.flatMap(examplesOfField), ...operations.flatMap(examplesOf)];
    expect(examples.length).toBeGreaterThan(60);
    const faults = examples.map(({ pointer, value }) => [pointer, schemas.faultOf(pointer, value)]);
    expect(faults.filter(([, fault]) => fault !== undefined)).toEqual([]);
  });

  test('has an example of each code of an error, and of no other', () => {
    const answers = operations.flatMap(({ operation }) => Object.values(operation.responses));
    const errors = answers.filter((answer) => answer['x-error-codes'] !== undefined);
    expect(errors.length).toBeGreaterThan(operations.length);
    for (const error of errors) {
      const { examples = {} } = error.content?.['application/json'] ?? {};
      expect(Object.keys(examples)).toEqual(error['x-error-codes']);
      const told = Object.values(examples).map(({ value }) => (value as { error: { code: string } }).error.code);
      expect(told).toEqual(error['x-error-codes']);
    }
  });

  test('has exactly the errors that the contract tells, and those that all its operations have', () => {
    const told = ownErrors();
    for (const { path, method, operation } of operations) {
      const own = told.get(`${method.toUpperCase()} ${path}`);
      expect(
        own,
        `add ${operation.operationId} to docs/CONTRACT.md, in the title of a rule with Errors:`,
      ).toBeDefined();
      const codes = Object.entries(operation.responses).flatMap(([status, answer]) =>
        (answer['x-error-codes'] ?? []).map((code) => `${status} ${code}`),
      );
      const all = new Set([...(own ?? []), ...commonErrors(name, path, operation.operationId)]);
      expect([operation.operationId, ...codes.toSorted()]).toEqual([operation.operationId, ...[...all].toSorted()]);
    }
  });
});

test.each(DOCUMENT_NAMES)(
  'the document of %s has headers of answers, and promises none: a proxy may change them',
  (name) => {
    const { components, paths } = readDocument(name);
    const inline = operationsOf({ components, paths }).flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap(({ headers = {} }) => Object.entries(headers)),
    );
    expect(inline.length).toBeGreaterThan(20);
    const all = [...Object.entries(components.headers), ...inline.filter(([, { $ref }]) => $ref === undefined)];
    expect(all.length).toBeGreaterThan(3);
    const promised = all.filter(([, header]) => {
      const said = Object.keys(header.schema ?? {});
      return header.required === true || said.some((keyword) => keyword !== 'type');
    });
    expect(promised.map(([header]) => header)).toEqual([]);
  },
);

test('a month of usage has no default of its page: a generated client would send it, and bill a part', () => {
  const usage = operationsOf(readDocument('operator')).find(({ operation }) => operation.operationId === 'readUsage');
  const limit = usage?.operation.parameters?.find(({ name }) => name === 'limit');
  expect(limit?.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000 });
  expect(limit?.schema).not.toHaveProperty('default');
});

/** Those which docs/CONTRACT.md tells of all operations of an API, and does not repeat. */
function commonErrors(name: ApiName, path: string, id: string): readonly string[] {
  const unknown = path.includes('{') ? ['404 not_found'] : [];
  const everywhere = ['502 upstream_unavailable', ...(name === 'v1' ? [] : ['503 overloaded'])];
  if (name === 'operator') return ['401 invalid_token', '403 forbidden', ...unknown, ...everywhere];
  // Enrollment has no credential, and no guard of its rate.
  if (id === 'enrollDevice') return everywhere;
  const credential = name === 'v1' ? '401 invalid_key' : '401 invalid_credential';
  // H23: an API key of less access may meet it at each.
  const access = name === 'v1' ? ['403 forbidden'] : [];
  return [credential, '401 account_disabled', ...access, '429 rate_limited', ...unknown, ...everywhere];
}

/** The errors of each operation by docs/CONTRACT.md, as `400 invalid_name`. */
function ownErrors(): ReadonlyMap<string, readonly string[]> {
  const told = new Map<string, readonly string[]>();
  const errorsIn = (text = ''): string[] =>
    [...text.matchAll(/\b([45]\d\d)\s+`([a-z_]+)`/g)].map(([, status, code]) => `${status} ${code}`);
  for (const { title, text } of rulesOf(contract).filter(({ isKept }) => isKept)) {
    const paragraph = /^Errors: ([\s\S]*?)\n\n/m.exec(text)?.[1];
    for (const operation of operationsIn(title)) told.set(operation, errorsIn(paragraph));
    for (const row of tablesOf(text).flatMap(([head, ...rows]) => (head?.at(-1) === 'Errors' ? rows : []))) {
      for (const operation of operationsIn(row[0] ?? '')) told.set(operation, errorsIn(row.at(-1)));
    }
  }
  return told;
}

const operationsIn = (text: string): string[] => codesIn(text).filter((code) => /^[A-Z]+ \//.test(code));

interface Field {
  readonly pointer: string;
  readonly schema: Schema;
  readonly description?: string | undefined;
  readonly example?: unknown;
}

/** Every field of every schema, every parameter and every header, with its place. */
function fieldsOf({ components, paths }: Document): readonly Field[] {
  const inside = (pointer: string, schema: Schema): Field[] => [
    ...Object.entries(schema.properties ?? {}).flatMap(([field, part]) => {
      const at = `${pointer}/properties/${field}`;
      return [{ pointer: at, schema: part }, ...inside(at, part)];
    }),
    ...(schema.items ? inside(`${pointer}/items`, schema.items) : []),
    ...(schema.anyOf ?? []).flatMap((part, n) => inside(`${pointer}/anyOf/${n}`, part)),
  ];
  const header = (pointer: string, { $ref, schema = {}, description, example }: Header): Field[] =>
    $ref === undefined ? [{ pointer: `${pointer}/schema`, schema, description, example }] : [];
  return [
    ...Object.entries(components.schemas).flatMap(([schema, part]) => inside(`/components/schemas/${schema}`, part)),
    ...Object.entries(components.headers).flatMap(([one, part]) => header(`/components/headers/${one}`, part)),
    ...operationsOf({ components, paths }).flatMap(({ path, method, operation }) => {
      const at = `/paths/${pointerPart(path)}/${method}`;
      return [
        ...(operation.parameters ?? []).map(({ schema, description }, n) => ({
          pointer: `${at}/parameters/${n}/schema`,
          schema,
          description,
        })),
        ...Object.entries(operation.responses).flatMap(([status, { headers = {} }]) =>
          Object.entries(headers).flatMap(([one, part]) => header(`${at}/responses/${status}/headers/${one}`, part)),
        ),
      ];
    }),
  ];
}

/** An example of its own, or one that its parts make. */
const hasExample = ({ examples, $ref, properties, items, anyOf }: Schema): boolean =>
  (examples?.length ?? 0) > 0 ||
  $ref !== undefined ||
  properties !== undefined ||
  (items !== undefined && hasExample(items)) ||
  (anyOf?.some(hasExample) ?? false);

const examplesOfField = ({ pointer, schema, example }: Field): Value[] =>
  [...(schema.examples ?? []), ...(example === undefined ? [] : [example])].map((value) => ({ pointer, value }));

/** Those of the bodies of requests and answers. */
function examplesOf({ path, method, operation }: ReturnType<typeof operationsOf>[number]): Value[] {
  const at = `/paths/${pointerPart(path)}/${method}`;
  const ofContent = (place: string, content: Readonly<Record<string, Media>> = {}): Value[] =>
    Object.entries(content).flatMap(([type, { example, examples = {} }]) => {
      const all = [...(example === undefined ? [] : [example]), ...Object.values(examples).map(({ value }) => value)];
      if (all.length === 0) throw new Error(`${place} has no example of ${type}.`);
      return all.map((value) => ({ pointer: `${place}/content/${pointerPart(type)}/schema`, value }));
    });
  return [
    ...ofContent(`${at}/requestBody`, operation.requestBody?.content),
    ...Object.entries(operation.responses).flatMap(([status, { content }]) =>
      ofContent(`${at}/responses/${status}`, content),
    ),
  ];
}
