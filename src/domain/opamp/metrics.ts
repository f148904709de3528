import type { Sections } from '../../metrics/instruments/sections.ts';
import type { SharingMetrics } from '../devices/metrics.ts';

/* The metrics of OpAMP: the verbs that are called, and the closed sets of their labels. */

/** How a message of an agent is answered. */
const OPAMP_RESULTS = [
  /** The agent has what it should, and said nothing new. */
  'unchanged',
  /** Its report was kept; there was nothing to offer. */
  'reported',
  'config_offered',
  /** It could not load the configuration, and is offered the empty one. */
  'empty_offered',
  /** It enrolled with a code and is offered its credential. */
  'enrolled',
  'bad_request',
  'too_large',
  'invalid_code',
  'invalid_credential',
  'account_disabled',
  'rate_limited',
  'unavailable',
] as const;
export type OpampResult = (typeof OPAMP_RESULTS)[number];

/** The verbs by which messages of agents are counted. */
export const opampMetrics = ({ opamp }: Sections) => ({
  opampMessageEnded: opamp.counterOf({
    name: 'muster_opamp_messages_total',
    help: 'Messages of OpAMP agents, by how they were answered.',
    labels: { result: OPAMP_RESULTS },
    unit: 'messages',
  }),
  opampFullStateAsked: opamp.counter({
    name: 'muster_opamp_full_state_requests_total',
    help: 'Answers that asked an OpAMP agent for its full state.',
    unit: 'answers',
  }),
});
export type OpampMetrics = ReturnType<typeof opampMetrics> & SharingMetrics;
