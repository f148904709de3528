import { endedInMemory } from '../cleanup/ended-in-memory.ts';

export const accessTokens = {
  sweeps: {
    /** Tokens whose time is over, or whose person is gone; nobody is let in by one before either. */
    access_tokens: endedInMemory(
      (memory) => memory.accessTokens(),
      ({ key }) => [{ remove: key }],
    ),
  },
};
