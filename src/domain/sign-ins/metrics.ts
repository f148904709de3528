import type { Sections } from '../../metrics/instruments/sections.ts';

/** The bounds that refuse an attempt to sign in with a password before it is compared. */
const SIGN_IN_BOUNDS = ['name', 'address', 'places'] as const;

export const signInMetrics = ({ requests }: Sections) => ({
  signInRefused: requests.counterOf({
    name: 'muster_sign_ins_refused_total',
    help: 'Passwords that were not compared, by the bound that was reached: the name, the address, or the places for hashing.',
    labels: { bound: SIGN_IN_BOUNDS },
    unit: 'requests',
  }),
});
export type SignInMetrics = ReturnType<typeof signInMetrics>;
