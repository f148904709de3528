import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    reporters: ['default', 'test/support/closing-line.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
