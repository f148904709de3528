import { endedInMemory } from '../cleanup/ended-in-memory.ts';
import { sessionEnd } from '../users/replaced-session.ts';

export const sessions = {
  sweeps: {
    /**
     * Sessions whose time is over, or whose user is gone, with their refresh tokens; nobody is let in by one before
     * either.
     */
    sessions: endedInMemory(
      (memory) => memory.sessions(),
      ({ id }) => sessionEnd(id),
    ),
  },
};
