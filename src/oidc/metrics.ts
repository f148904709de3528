import type { Sections } from '../metrics/instruments/sections.ts';

/** What came of a refresh token by which the provider was asked; see `Outcome` in ask-provider.ts. */
const ASKED = ['renewed', 'refused', 'spent', 'there', 'none', 'waits', 'odd', 'unavailable'] as const;
/** What became of a person whom the provider refuses. */
const REFUSED = ['ended', 'kept'] as const;

/** The verbs by which renewals at the provider are counted. */
export const renewalMetrics = ({ requests }: Sections) => ({
  tokenAsked: requests.counterOf({
    name: 'muster_provider_tokens_asked_total',
    help: 'Refresh tokens with which the provider was asked for the roles of a user, by the outcome.',
    labels: { outcome: ASKED },
    unit: 'requests',
  }),
  userRefused: requests.counterOf({
    name: 'muster_provider_users_refused_total',
    help: 'Users whom the provider lets in no more: their sessions ended, and the API keys that groups gave the right to make, or these are kept.',
    labels: { outcome: REFUSED },
    unit: 'users',
  }),
  providerQuestions: requests.callbackGauge({
    name: 'muster_provider_questions',
    help: 'Users who signed out at the provider, or about whom it was silent, and of whom it has not said whether they are still there.',
    unit: 'users',
  }),
  usersRefusedTogether: requests.callbackGauge({
    name: 'muster_users_refused_together',
    help: 'Users whom the provider refused with many others at once: their API keys stay until somebody has looked.',
    unit: 'users',
  }),
});
export type RenewalMetrics = Pick<ReturnType<typeof renewalMetrics>, 'tokenAsked' | 'userRefused'>;
