import type { ListenerLabel } from './labels.ts';

/** Numbers that the service keeps anyway: the gauges call for them at each scrape. */
export interface Gauges {
  readonly accounts: () => number;
  readonly apps: () => number;
  readonly heldPolls: () => number;
  /** Requests whose answer has not left yet, by listener. */
  readonly inFlight: () => readonly (readonly [listener: ListenerLabel, requests: number])[];
  /** 0 to 1; NaN where that is not known. */
  readonly storeFullness: () => number;
  readonly cacheReady: () => boolean;
  readonly storeRevisionLag: () => number;
}

/** The gauges of the service, once it has opened what they are read from. */
export type ReadGauges = () => Gauges | undefined;
