import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { parseRecord, put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { FORMAT } from '../../src/domain/records/store-records.ts';
import { openStore } from '../../src/service/open-store.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { connectRaw } from '../support/http/raw-http.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { call, KEY_FILE_TEXT, tenant } from '../support/service/muster.ts';

/* Whole processes whose store a newer Muster takes over: each ends by itself, in every role. */

const url = inject('etcd');
const ROLES = ['api', 'device', 'controller', 'api,device,controller'];

interface Line {
  readonly level: string;
  readonly msg: string;
}

describe.skipIf(url === undefined)('when a newer Muster raises the format of the records', () => {
  test('each process ends with one error line and exit code 1, once the requests under way are answered', async () => {
    await using opened = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), 'muster-newer-'));
    opened.defer(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const prefix = `/${randomUUID()}/`;
    const env = {
      MUSTER_DATA_DIR: directory,
      MUSTER_KEY_FILE: join(directory, 'keys'),
      MUSTER_STORE: `etcd:${url}`,
      MUSTER_ETCD_PREFIX: prefix,
      // Nobody is to be sent there for a while: it does not wait for that.
      MUSTER_DRAIN_DELAY_SECONDS: '60',
    };
    const all: MusterProcess[] = [];
    for (const roles of ROLES) all.push(opened.use(await MusterProcess.start({ ...env, MUSTER_ROLES: roles })));
    const [api] = all;
    if (!api) throw new Error('no process');
    const { apiKey } = await tenant(api);
    await using client = await connectRaw(Number(new URL(api.api).port));
    await client.send(
      `POST /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: 2\r\n\r\n{`,
    );
    await call(`${api.api}/v1/apps`, { token: apiKey });

    await using store = await openStore({ kind: 'etcd', endpoints: [url ?? ''], prefix });
    // Whoever raises it keeps the other fields, the id of the store among them.
    const entry = await store.get(KEYS.format());
    const { record, revision } = entry ? parseRecord(KEYS.format, entry) : expect.unreachable('no format');
    const raised = put(KEYS.format(), { ...record, format: FORMAT + 1 });
    await store.commit({ expect: [expectRevision(KEYS.format(), revision)], write: [raised] });

    const ended = Promise.all(all.map((muster) => muster.ended()));
    await expect.poll(async () => (await call(`${api.ops}/readyz`)).text).toContain('draining');
    await client.send('}');
    expect((await client.answer()).status).toBe(201);
    expect(await ended).toEqual(ROLES.map(() => 1));
    for (const { logged } of all) {
      const lines = logged.map((line) => JSON.parse(line) as Line);
      const errors = lines.filter(({ level }) => level === 'error');
      expect(errors).toMatchObject([{ format: FORMAT + 1, knows: FORMAT }]);
      expect(errors[0]?.msg).toContain('start that version in its place');
      expect(lines.at(-1)?.msg).toBe('muster has stopped');
    }
    expect((await store.list({ prefix: KEYS.replica.under(), limit: 10 })).entries).toEqual([]);
  });
});
