import { afterAll, beforeAll, expect, test } from 'vitest';
import { COLUMNS, nameOf, rowAt } from '../../../support/doors/callers-table.ts';
import { openCallers, type CallersScene } from '../../../support/doors/callers-scene.ts';
import type { Callers, Headers } from '../../../support/doors/callers.ts';
import type { DocumentName } from '../../../support/openapi/documents.ts';
import { ask, putUser, signedIn } from '../../../support/panel/panel-users.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { createApp, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { requestRecords } from '../../../support/store/request-records.ts';

/* CONTRACT.md#callers: what is open in part, each cell with what it refuses and with what it lets in. */

interface Asked {
  readonly ids: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** The requests for one cell. */
interface Part {
  readonly refused: readonly Asked[];
  readonly open: Asked;
  /** The credential, where it is not any of its kind. */
  readonly by?: Headers;
}

interface Partial {
  readonly cell: readonly [api: DocumentName, operation: string, caller: string, note: string];
  readonly status: 403 | 404;
  readonly opens: 200 | 201;
  readonly part: (callers: Callers) => Promise<Part>;
}

const bodies = (ids: Asked['ids'], open: object, beyond: readonly object[]): Part => ({
  refused: beyond.map((body) => ({ ids, body })),
  open: { ids, body: open },
});

const ofAccount = async ({ muster }: Callers): Promise<Part> => {
  const { accountId } = await tenant(muster);
  const beyond = [
    { disabled: false },
    { name: 'x' },
    { disabled: true, name: 'x' },
    { quotaMb: 0 },
    { disabled: true, quotaMb: null },
    { disabled: true, adoptableBy: null },
  ];
  return bodies({ accountId }, { disabled: true }, beyond);
};

const ofUser = async ({ store }: Callers): Promise<Part> => {
  const beyond = [
    { disabled: false },
    { operator: true },
    { role: 'support' },
    { disabled: true, name: 'Eve' },
    { disabled: true, keepKeys: [] },
  ];
  return bodies({ userId: await putUser(store) }, { disabled: true }, beyond);
};

const ofBatch = async ({ muster }: Callers): Promise<Part> => {
  const { accountId, apiKey } = await tenant(muster);
  const { appId } = await createApp(muster, apiKey);
  const beyond = ['create', 'issue-code', 'delete'].map((change) => ({ change, apps: [appId] }));
  return bodies({ accountId }, { change: 'revoke', apps: [appId] }, beyond);
};

const ofKey = async (callers: Callers): Promise<Part> => {
  const by = await callers.credential('v1', 'enroll');
  const { appId } = await createApp(callers.muster, (by['authorization'] ?? '').slice('Bearer '.length));
  return { by, refused: [{ ids: { appId: callers.own.app.appId } }], open: { ids: { appId } } };
};

const ONE = 'https://collector.example.com/one';
const TWO = 'https://collector.example.com/two';

/** A header is stored, which would go to another address. */
const ofConfiguration = async ({ muster, own }: Callers): Promise<Part> => {
  const { accountId, apiKey } = own;
  await setOtel(muster, apiKey, { endpoint: ONE, authHeader: 'Bearer of-collector' });
  const to = (endpoint: string) => ({ enabled: true, endpoint, evidenceLevel: 'full' });
  return bodies({ accountId }, to(ONE), [to(TWO)]);
};

const ofRevision = async (callers: Callers): Promise<Part> => {
  const { muster, store, own } = callers;
  const { accountId, apiKey } = own;
  for (const endpoint of [TWO, ONE]) await setOtel(muster, apiKey, { endpoint, authHeader: 'Bearer of-collector' });
  const viewer = await signedIn(store, { accounts: [{ accountId, role: 'viewer' }] });
  const at = `/accounts/${accountId}/otel-config`;
  const { tag: seen, revision } = (await ask(callers, viewer, at)).body;
  const restored = { revision: Number(revision) - 1, seen };
  return bodies({ accountId }, { ...restored, authHeader: 'Bearer anew' }, [restored]);
};

const PARTIAL: readonly Partial[] = [
  {
    cell: ['v1', 'POST /v1/apps/{appId}/enroll-code', 'enroll', '²'],
    status: 404,
    opens: 201,
    part: ofKey,
  },
  {
    cell: ['operator', 'PATCH /operator/v1/accounts/{accountId}', 'support', '¹'],
    status: 403,
    opens: 200,
    part: ofAccount,
  },
  {
    cell: ['operator', 'PATCH /operator/v1/users/{userId}', 'support', '¹'],
    status: 403,
    opens: 200,
    part: ofUser,
  },
  {
    cell: ['panel', 'POST /panel/v1/accounts/{accountId}/apps/batch', 'support', '¹'],
    status: 403,
    opens: 200,
    part: ofBatch,
  },
  {
    cell: ['panel', 'PUT /panel/v1/accounts/{accountId}/otel-config', 'token: owner', '³'],
    status: 403,
    opens: 200,
    part: ofConfiguration,
  },
  {
    cell: ['panel', 'POST /panel/v1/accounts/{accountId}/otel-config/restore', 'token: owner', '³'],
    status: 403,
    opens: 200,
    part: ofRevision,
  },
  {
    cell: ['panel', 'PATCH /panel/v1/accounts/{accountId}', 'support', '¹'],
    status: 403,
    opens: 200,
    part: ofAccount,
  },
  {
    cell: ['panel', 'PATCH /panel/v1/users/{userId}', 'support', '¹'],
    status: 403,
    opens: 200,
    part: ofUser,
  },
];

test('each cell that is open in part is tried, and no other', () => {
  const told = COLUMNS.flatMap(({ api, caller, rows }) =>
    rows.map((row) => [api, nameOf(row), caller, row.cells.get(caller)?.note] as const),
  ).filter(([, , , note]) => note !== undefined);
  expect(new Set(told.map(String))).toEqual(new Set(PARTIAL.map(({ cell }) => String(cell))));
  expect(told.length).toBe(PARTIAL.length);
});

onEachBackend('a cell that is open in part', (backend) => {
  let scene: CallersScene;
  beforeAll(async () => {
    scene = await openCallers(backend);
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  test.each(PARTIAL)(
    'each cell has what it refuses and what it lets in: $cell',
    async ({ cell: [api, operation, caller], status, opens, part }) => {
      const row = rowAt(api, operation);
      const { refused, open, by = await scene.callers.credential(api, caller) } = await part(scene.callers);
      const before = await requestRecords(scene.store);
      for (const { ids, body } of refused) {
        const got = await scene.callers.ask(row, by, ids, body && { body });
        expect([body, got.status, got.code]).toEqual([body, status, status === 403 ? 'forbidden' : 'not_found']);
      }
      expect(refused).not.toEqual([]);
      expect(await requestRecords(scene.store)).toEqual(before);
      const got = await scene.callers.ask(row, by, open.ids, open.body && { body: open.body });
      expect([got.status, got.code]).toEqual([opens, undefined]);
      expect(await requestRecords(scene.store)).not.toEqual(before);
    },
  );
});
