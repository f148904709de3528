import type { Deadlines } from '../../../src/domain/limits.ts';

/** Deadlines of a service on a machine that others use, too. */
export const PATIENT: Deadlines = { requestMs: 60_000, storeMs: 50_000 };
