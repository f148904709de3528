/** The outcome of a test of the collector, in one word. The panel's pages have these words by their type. */
export const TEST_OUTCOMES = [
  'reached',
  'header-refused',
  'not-reached',
  'tls-fault',
  'not-allowed',
  'withdrawn',
] as const;
