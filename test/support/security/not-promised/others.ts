import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { OPERATOR_AUDIT } from '../../../../src/domain/records/audit-records.ts';
import { parseRecord } from '../../../../src/domain/records/codec.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { supervisorFile } from '../../../../src/opamp/supervisor-file.ts';
import { accepted, leaver, signedOutByProvider } from '../../offboarding/leavers.ts';
import { signing, meOf } from '../../panel/signing.ts';
import { asOperator } from '../../panel/visitor.ts';
import { detection, listReviews, sendDetections } from '../../records/detections.ts';
import { auditsOf } from '../../service/accounts.ts';
import { ROOT } from '../../repository/source-tree.ts';
import { call, Muster, poll, tenant } from '../../service/muster.ts';
import { panelMuster, signedIn, ask } from '../../panel/panel-users.ts';
import { BEHIND_PROXY, configure, enrolled, from, type Checks } from './checks.ts';

/* Sentences about those whom Muster trusts with something: daemons, collectors, the provider, tenants, readers. */

interface Manifest {
  readonly kind?: string;
}
interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: { readonly properties: { readonly spec: { readonly properties: Fields } } };
      };
    }[];
  };
}
type Fields = Readonly<Record<string, { readonly properties?: Fields }>>;

const filesOf = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), 'utf8'));

export const OTHERS: Checks = {
  'Muster does not ask who answers at the endpoint of a collector, and connects to it for a test by an owner alone.':
    async () => {
      let connections = 0;
      const collector = createServer((_request, response) => response.end());
      collector.on('connection', () => (connections += 1));
      collector.listen(0, '127.0.0.1');
      await once(collector, 'listening');
      const { port } = collector.address() as AddressInfo;
      try {
        await using muster = await Muster.start();
        const { apiKey, credential } = await enrolled(muster);
        for (const endpoint of ['https://nobody.invalid', `http://127.0.0.1:${port}`]) {
          expect([endpoint, await configure(muster, apiKey, endpoint)]).toEqual([endpoint, 200]);
          expect((await poll(muster, credential)).body['otel']).toMatchObject({ endpoint });
        }
        expect(connections).toBe(0);
        await fetch(`http://127.0.0.1:${port}`);
        expect(connections).toBe(1);
      } finally {
        collector.close();
        collector.closeAllConnections();
      }
    },

  'Muster does not judge whether a daemon tells the truth.': async () => {
    await using muster = await Muster.start();
    const { accountId, apiKey, credential } = await enrolled(muster);
    expect(await configure(muster, apiKey, 'https://otel.example.com')).toBe(200);
    // It has never asked for what it says that it applied, and its event is of a year that is to come.
    const acknowledged = await call(`${muster.device}/device/v1/config/ack`, {
      method: 'POST',
      token: credential,
      body: { revision: 1, status: 'applied' },
    });
    expect(acknowledged.status).toBe(204);
    expect((await sendDetections(muster, credential, [detection({ at: '2199-01-01T00:00:00Z' })])).status).toBe(202);
    expect((await asOperator(muster, `/accounts/${accountId}/rollout`)).body).toMatchObject({ applied: 1 });
    expect((await listReviews(muster, accountId)).map(({ at }) => at)).toEqual(['2199-01-01T00:00:00.000Z']);
  },

  'Muster does not judge what the provider says of a person.': async () => {
    await using it = await signing();
    await it.provider.set({ user: 'nobody anybody knows', groups: ['platform'] });
    const { token } = await it.signIn();
    expect((await meOf(it, token)).body).toMatchObject({ operator: true });
    expect((await ask(it.panel, { token: token ?? '' }, '/users')).status).toBe(200);
  },

  'Somebody who left after a logout, or whom the provider refuses, is not kept from API keys that they know.':
    async () => {
      await using it = await signing();
      const ann = await leaver(it, 'ann');
      await it.provider.set({ gone: true });
      expect((await signedOutByProvider(it, 'ann')).status).toBe(200);
      expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    },

  'No webhook judges custom resources: whoever may write one acts for any account of its namespace.': async () => {
    const manifests = filesOf('test/charts/golden/*.yaml').flatMap((text) =>
      parseAllDocuments(text).map((document) => document.toJS() as Manifest | null),
    );
    const kinds = new Set(manifests.flatMap((manifest) => manifest?.kind ?? []));
    expect([kinds.has('CustomResourceDefinition') || kinds.has('ClusterRole'), kinds.size > 10]).toEqual([true, true]);
    expect([...kinds].filter((kind) => /Webhook|AdmissionPolicy/.test(kind))).toEqual([]);
    const definitions = filesOf('charts/muster/files/crds/*.yaml').map((text) => parse(text) as Definition);
    const references = definitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ schema }) => schema.openAPIV3Schema.properties.spec.properties['accountRef'] ?? []),
    );
    // Nothing but a name: neither another namespace nor a word of the account for this resource.
    expect(references.map(({ properties }) => Object.keys(properties ?? {}))).toEqual([['name'], ['name'], ['name']]);
    await Promise.resolve();
  },

  'The log is not free of personal data: it has addresses of clients and ids of users.': async () => {
    await using panel = await panelMuster(undefined, { env: BEHIND_PROXY });
    const { accountId } = await tenant(panel.muster);
    await call(`${panel.muster.ops}/operator/v1/accounts`, { token: 'w'.repeat(40), headers: from('198.51.100.7') });
    const { userId, token } = await signedIn(panel.store, { operator: true });
    const body = { name: 'renamed' };
    const changed = await ask(panel, { token }, `/accounts/${accountId}`, { method: 'PATCH', body });
    expect(changed.status).toBe(200);
    for (const word of ['198.51.100.7', userId])
      expect([word, panel.muster.logged.some((line) => line.includes(word))]).toEqual([word, true]);
  },

  'The file of a supervisor does not hide its credential.': async () => {
    const credential = `mst_dev_${'c'.repeat(49)}`;
    const places = { executable: '/otelcol', storage: '/var/lib/otelcol' };
    const file = supervisorFile({ endpoint: 'https://muster.example.com/v1/opamp', credential, ...places });
    const { server } = parse(file) as { server: { headers: Record<string, unknown> } };
    expect(server.headers).toEqual({ Authorization: [`Bearer ${credential}`] });
    await Promise.resolve();
  },

  'What people change of themselves is charged to no account.': async () => {
    await using panel = await panelMuster();
    const { accountId } = await tenant(panel.muster);
    const browser = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const changed = await ask(panel, browser, '/me', { method: 'PATCH', body: { name: 'Somebody else' } });
    expect(changed.status).toBe(200);
    const actor = `user:${browser.userId}`;
    expect((await auditsOf(panel.store, OPERATOR_AUDIT)).filter((entry) => entry.actor === actor)).toHaveLength(1);
    expect((await auditsOf(panel.store, accountId)).filter((entry) => entry.actor === actor)).toEqual([]);
  },

  'A consent to adopt that names no UID is not kept from whoever makes a namespace of that name first.': async () => {
    await using panel = await panelMuster();
    const { accountId } = await tenant(panel.muster);
    const consented = async (consent: object): Promise<unknown> => {
      const body = { adoptableBy: 'production/acme', ...consent };
      expect((await asOperator(panel.muster, `/accounts/${accountId}`, { method: 'PATCH', body })).status).toBe(200);
      const entry = await panel.store.get(KEYS.account(accountId));
      return parseRecord(KEYS.account, entry ?? expect.unreachable()).record.consent?.namespaceUid;
    };
    // No cluster is there that tells the UID.
    expect(await consented({})).toBeUndefined();
    const namespaceUid = '0b8fd1f4-3c57-4a8e-9f3e-5f3b7f6f2d11';
    expect(await consented({ namespaceUid })).toBe(namespaceUid);
  },
};
