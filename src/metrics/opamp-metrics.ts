import { OPAMP_RESULTS, type OpampMetrics } from '../domain/opamp/metrics.ts';
import type { Section } from './instruments.ts';

/** The verbs of the endpoint of OpAMP. */
export function opampMetrics(section: (title: string) => Section): OpampMetrics {
  const opamp = section('OpAMP');
  return {
    opampMessageEnded: opamp.bufferedCounterOf({
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
    credentialShared: opamp.counter({
      name: 'muster_opamp_shared_credentials_total',
      help: 'Times that machines were found to share a credential, by OpAMP or not, once an hour at most for each app.',
      unit: 'findings',
    }),
  };
}
