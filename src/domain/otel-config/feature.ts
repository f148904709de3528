import { removeOrphanedRevisions } from './orphaned-revisions.ts';

export const otelConfig = {
  sweeps: {
    otel_revisions: removeOrphanedRevisions,
  },
};
