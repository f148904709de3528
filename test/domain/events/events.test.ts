import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, typeOf } from '../../../src/domain/events/catalogue.ts';
import { detailsOf, eventOf, type MusterEvent } from '../../../src/domain/events/event.ts';
import { EVENT_FIELDS } from '../../../src/domain/events/fields.ts';
import { suffixOf } from '../../../src/domain/records/audit-records.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { ask, panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* Events: the catalogue, and the entries of a service as it is used. */

const ROOT = resolve(import.meta.dirname, '../../..');
const SCHEMA = JSON.parse(readFileSync(resolve(ROOT, 'docs/events.schema.json'), 'utf8')) as object;

function validator(): (event: unknown) => unknown {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(SCHEMA);
  return (event) => (validate(event) ? [] : validate.errors);
}

describe('the catalogue of events', () => {
  test('has one type for each action, in the words of the field', () => {
    const types = Object.keys(EVENT_TYPES).map(typeOf);
    expect(new Set(types).size).toBe(types.length);
    expect(types.filter((type) => !/^[a-z_]+\.[a-z_]+$/.test(type))).toEqual([]);
    expect(['otel.stored', 'sign-in.refused', 'app.enrolled', 'later.added', 'constructor'].map(typeOf)).toEqual([
      'config.changed',
      'sign_in.refused',
      'app.enrolled',
      'later.added',
      'constructor',
    ]);
  });

  test('says each thing as a sentence, and has no field that no type has', () => {
    const types = Object.values(EVENT_TYPES);
    const sentences = [...types.map(({ says }) => says), ...Object.values(EVENT_FIELDS).map(([, means]) => means)];
    expect(sentences.filter((text) => !/^[A-Z][^\n]*\.$/.test(text))).toEqual([]);
    const used = new Set(types.flatMap(({ fields }) => fields));
    expect(Object.keys(EVENT_FIELDS).filter((field) => !used.has(field as keyof typeof EVENT_FIELDS))).toEqual([]);
    for (const { fields } of types) expect(new Set(fields).size).toBe(fields.length);
  });

  test('knows the details of an action, and neither others nor another type of one', () => {
    const details = detailsOf('key.rotated');
    expect(details?.safeParse({ keyId: 'k', graceSeconds: 5 }).success).toBe(true);
    expect(details?.safeParse({ keyId: 'k', graceSeconds: '5' }).success).toBe(false);
    expect(details?.safeParse({ keyId: 'k', secret: 'x' }).success).toBe(false);
    expect(detailsOf('later.added')).toBeUndefined();
    expect(detailsOf('constructor')).toBeUndefined();
  });

  test.each(['another.type', 'toString'])('its schema takes no event of a type that it does not have: %s', (type) => {
    const event = { type, timestamp: '2026-11-30T16:24:30.123Z', data: {} };
    expect(validator()(event)).not.toEqual([]);
  });
});

onEachBackend('the events of a service', (backend) => {
  test('are valid by the schema, and have the names of that time', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { accountId } = await tenant(muster, 'enterprise');
    const owner = await signedIn(store, { name: 'Ann', accounts: [{ accountId, role: 'owner' as const }] });
    const made = await ask(panel, owner, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'till 3' } });
    const appId = String(made.body['appId']);
    const revoke = `/accounts/${accountId}/apps/${appId}/revoke`;
    expect((await ask(panel, owner, revoke, { method: 'POST', body: {} })).status).toBe(200);
    const name = { method: 'PATCH', body: { name: 'Quay', entitlement: 'standard' } };
    expect((await asOperator(muster, `/accounts/${accountId}`, name)).status).toBe(200);
    const events: MusterEvent[] = [];
    for (const entry of await entriesOf(store, KEYS.audit.under(accountId))) {
      const place = { accountId, suffix: suffixOf(accountId, entry.key), accountName: 'Quay' };
      events.push(eventOf(place, parseRecord(KEYS.audit, entry).record));
    }
    const validate = validator();
    expect(events.map((event) => [event.type, validate(event)])).toEqual(events.map(({ type }) => [type, []]));
    const revoked = events.find(({ type }) => type === 'app.revoked');
    expect(revoked).toMatchObject({
      data: {
        account: { id: accountId, name: 'Quay' },
        actor: { id: `user:${owner.userId}`, name: 'Ann' },
        target: { id: `app:${appId}`, name: 'till 3' },
        details: { codesVoided: 1 },
      },
    });
    expect(new Set(events.map(({ data: { id } }) => id)).size).toBe(events.length);
    const [first] = events;
    expect(validate({ ...first, data: { ...first?.data, details: { entitlement: 3 } } })).not.toEqual([]);
  });
});
