import { endedInMemory } from '../cleanup/ended-in-memory.ts';
import { sessionEnd } from '../users/replaced-session.ts';

export const sessions = {
  sweeps: {
    /** Sessions whose time is over, with their refresh tokens; nobody is let in by one before either. */
    sessions: endedInMemory(
      (memory, userId) => memory.sessionsOf(userId),
      ({ id }) => sessionEnd(id),
    ),
  },
};
