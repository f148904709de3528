import { VERSION } from '../../version.ts';
import { instantOf, tokenOfActor, userOfActor } from '../records/audit-records.ts';
import { EVENT_TYPES, type EventType, type Ocsf } from './catalogue.ts';
import type { MusterEvent } from './event.ts';

/*
 * An event in the form of the Open Cybersecurity Schema Framework 1.3 (https://schema.ocsf.io/1.3.0), which stores of
 * security events read. Its attributes have what the framework has a word for; the event itself stands in `unmapped`.
 */

const OCSF_VERSION = '1.3.0';

const CLASSES: Readonly<Record<Ocsf['class'], { readonly uid: number; readonly category: number }>> = {
  detection: { uid: 2004, category: 2 },
  account: { uid: 3001, category: 3 },
  authentication: { uid: 3002, category: 3 },
  entity: { uid: 3004, category: 3 },
  access: { uid: 3005, category: 3 },
  api: { uid: 6003, category: 6 },
};
const OTHER_ACTIVITY = 99;
const UNKNOWN: EventType = {
  says: 'Something changed.',
  fields: [],
  ocsf: { class: 'entity', activity: OTHER_ACTIVITY },
};

const [INFORMATIONAL, MEDIUM, CRITICAL] = [1, 3, 5] as const;
const [SUCCESS, FAILURE] = [1, 2] as const;

const product = { name: 'Muster', vendor_name: 'Muster', version: VERSION };

/** The event for an entry that cannot be read: the base class of the framework. @param suffix has the instant */
export const unreadable = (suffix: string, sequence: number): Readonly<Record<string, unknown>> => ({
  class_uid: 0,
  category_uid: 0,
  activity_id: OTHER_ACTIVITY,
  type_uid: OTHER_ACTIVITY,
  severity_id: MEDIUM,
  time: instantOf(suffix) || 0,
  message: 'This entry of the audit cannot be read.',
  metadata: { version: OCSF_VERSION, product, uid: suffix, sequence },
});

/** An object of the framework that names somebody or something. */
const named = ({ id, name }: MusterEvent['data']['actor']) => ({ uid: id, ...(name !== undefined && { name }) });

/**
 * Makes the event of the framework.
 * @param action the action of the entry, by which the catalogue has its class
 * @param sequence the revision of the store: of two events the one that was committed later has the greater one
 */
export function ocsfOf(event: MusterEvent, action: string, sequence: number): Readonly<Record<string, unknown>> {
  const { says, ocsf } = Object.hasOwn(EVENT_TYPES, action) ? EVENT_TYPES[action as keyof typeof EVENT_TYPES] : UNKNOWN;
  const { uid, category } = CLASSES[ocsf.class];
  const severity = ocsf.class === 'detection' ? CRITICAL : ocsf.failed ? MEDIUM : INFORMATIONAL;
  return {
    class_uid: uid,
    category_uid: category,
    activity_id: ocsf.activity,
    type_uid: uid * 100 + ocsf.activity,
    severity_id: severity,
    status_id: ocsf.failed ? FAILURE : SUCCESS,
    time: Date.parse(event.timestamp),
    message: says,
    metadata: {
      version: OCSF_VERSION,
      product,
      event_code: event.type,
      uid: event.data.id,
      correlation_uid: event.data.requestId,
      sequence,
      ...(event.data.account && { tenant_uid: event.data.account.id }),
    },
    actor: actorOf(event),
    ...attributesOf(ocsf.class, event, says),
  };
}

function actorOf({ data: { actor } }: MusterEvent) {
  const [userId, token] = [userOfActor(actor.id), tokenOfActor(actor.id)];
  if (userId === undefined) return { app_uid: actor.id, ...(actor.name !== undefined && { app_name: actor.name }) };
  const name = actor.name !== undefined && { name: actor.name };
  return { user: { uid: `user:${userId}`, ...name, ...(token && { credential_uid: token.tokenId }) } };
}

/** The attributes that a class asks for. */
function attributesOf(of: Ocsf['class'], { data }: MusterEvent, says: string): object {
  const { actor, target = actor, details } = data;
  const about = named(target);
  const [client] = String(details['clients'] ?? details['client'] ?? '').split(' ');
  const from = { ...(client && { src_endpoint: { ip: client } }) };
  switch (of) {
    case 'entity':
      return { entity: { ...about, type: kindOf(target.id) } };
    case 'account':
      return { user: about };
    case 'authentication':
      // Secrets that were refused are of nobody who is known.
      return { user: isPerson(target.id) ? about : { name: 'unknown' }, service: { name: 'Muster' }, ...from };
    case 'access':
      return { user: about, privileges: typeof details['role'] === 'string' ? [details['role']] : [] };
    case 'api':
      return { api: { operation: says }, ...from };
    case 'detection':
      return { finding_info: { uid: data.id, title: says }, resources: [{ ...about, type: kindOf(target.id) }] };
  }
}

const isPerson = (id: string): boolean => userOfActor(id) !== undefined;
const kindOf = (id: string): string => id.split(':', 1)[0] ?? id;
