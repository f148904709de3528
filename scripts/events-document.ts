import * as z from 'zod';
import { EVENT_TYPES, typeOf } from '../src/domain/events/catalogue.ts';
import { FIELD_SHAPES } from '../src/domain/events/event.ts';
import { EVENT_FIELDS } from '../src/domain/events/fields.ts';

/* docs/EVENTS.md and docs/events.schema.json, made from the catalogue of events. */

const HEAD = `# Events

This file is made from the catalogue in \`src/domain/events\`, by \`npm run docs\`; a test holds that it is up to date.

An event is an entry of the audit ([ADR 0084](adr/0084-events-are-entries-of-the-audit.md)), so everything that Muster tells is here: what people, keys and
daemons did, and what became of the fleet meanwhile. It has this form:

\`\`\`json
{
  "type": "app.enrolled",
  "timestamp": "2026-11-30T16:24:30.123Z",
  "data": {
    "id": "0mpv5pc00-3f8a1c5e7b9d2f4a6c8e0b1d3f5a7c9e",
    "account": { "id": "k3m9x2p7q4w8z1a5", "name": "Harbour" },
    "actor": { "id": "device:t5r8n2c6v9b3", "name": "till-3" },
    "target": { "id": "app:t5r8n2c6v9b3", "name": "till-3" },
    "requestId": "5f2c9a7e1b3d4c6a",
    "details": { "from": "pending", "platform": "linux", "agentVersion": "1.4.2", "connection": "cloud" }
  }
}
\`\`\`

- \`data.id\` is unique over all accounts, and a restored store has it, too. Delivery is at least once: whoever must not act
  twice keeps the ids of what was done.
- \`data.account\` is absent for what concerns no single account, such as users and their sessions.
- The actor is \`user:ID\`, \`user:ID:TOKEN\` for an access token of a user, \`key:ID\`, \`device:APP\`, \`operator\`, \`operator:NAME\`,
  \`kubernetes:NAMESPACE/KIND/NAME\`, or \`muster\` for the service itself. The target is \`app:ID\`, \`key:ID\`, \`user:ID\`, \`link:ID\`,
  \`access-token:ID\` or \`account:ID\`. Names are those of that time.
- Every field of \`details\` may be absent. A later version may add types and fields, and gives none another meaning:
  ignore what you do not know.
- No event has a secret, an enrollment code or the evidence of a detection.

[events.schema.json](events.schema.json) is the JSON Schema of all types.
`;

const code = (text: string): string => `\`${text}\``;
const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const types = Object.entries(EVENT_TYPES)
  .map(([action, { says, fields }]) => ({ action, type: typeOf(action), says, fields }))
  .toSorted((a, b) => (a.type < b.type ? -1 : 1));

/** The text of docs/EVENTS.md. */
export function eventsDocument(): string {
  const used = new Set(types.flatMap(({ fields }) => fields));
  return [
    HEAD,
    '## Types',
    '',
    'The action is the word of the audit and of the metrics, where that is another one.',
    '',
    row('Type', 'What happened', 'Details', 'Action'),
    row('---', '---', '---', '---'),
    ...types.map(({ action, type, says, fields }) =>
      row(code(type), says, [...fields].map(code).join(', '), action === type ? '' : code(action)),
    ),
    '',
    '## Details',
    '',
    row('Field', 'Type', 'Meaning'),
    row('---', '---', '---'),
    ...Object.entries(EVENT_FIELDS)
      .filter(([field]) => used.has(field as keyof typeof EVENT_FIELDS))
      .map(([field, [kind, means]]) => row(code(field), KINDS[kind], means)),
    '',
  ].join('\n');
}

const KINDS = {
  text: 'string',
  whole: 'integer',
  flag: 'boolean',
  instant: 'date-time',
  'text or whole': 'string or integer',
} as const;

/** The text of docs/events.schema.json: what all events have, each field of the details, and each type. */
export function eventsSchema(): string {
  const named = z.object({ id: z.string(), name: z.string().optional() });
  const data = { id: z.string(), account: named.optional(), actor: named, target: named.optional() };
  const event = z.object({
    type: z.string(),
    timestamp: z.iso.datetime(),
    data: z.object({ ...data, requestId: z.string(), details: z.looseObject({}) }),
  });
  const { $schema, ...anyEvent } = z.toJSONSchema(event, { io: 'input' });
  const fields = Object.entries(EVENT_FIELDS).map(([field, [kind, description]]): [string, object] => {
    const { $schema: _draft, ...schema } = z.toJSONSchema(FIELD_SHAPES[kind]);
    return [field, { description, ...schema }];
  });
  const typed = types.map(({ type, says, fields: own }): [string, object] => {
    const details = Object.fromEntries(own.map((field) => [field, { $ref: `#/$defs/fields/${field}` }]));
    const properties = { type: { const: type }, data: { properties: { details: { properties: details } } } };
    return [type, { description: says, allOf: [{ $ref: '#/$defs/event' }], properties }];
  });
  return JSON.stringify({
    $schema,
    title: 'Events of Muster',
    anyOf: types.map(({ type }) => ({ $ref: `#/$defs/types/${type}` })),
    $defs: { event: anyEvent, fields: Object.fromEntries(fields), types: Object.fromEntries(typed) },
  });
}
