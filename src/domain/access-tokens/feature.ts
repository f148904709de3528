import { endedInMemory } from '../cleanup/ended-in-memory.ts';

export const accessTokens = {
  sweeps: {
    /** Tokens whose time is over; nobody is let in by one before either. */
    access_tokens: endedInMemory(
      (memory, userId) => memory.accessTokensOf(userId),
      ({ key }) => [{ remove: key }],
    ),
  },
};
