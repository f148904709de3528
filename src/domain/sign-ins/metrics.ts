/** What refuses an attempt to sign in with a password before it is compared. */
export const SIGN_IN_BOUNDS = ['name', 'address', 'places'] as const;
type SignInBound = (typeof SIGN_IN_BOUNDS)[number];

export interface SignInMetrics {
  /** An attempt to sign in was refused unjudged, by a bound. */
  signInRefused(bound: SignInBound): void;
}
