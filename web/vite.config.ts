import { resolve } from 'node:path';
import { defineConfig } from 'vite';

/* `npm run build:web`: the pages become files in web/dist, whose names hold a hash of their content. */

/** @public Vite loads it by its path. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: {
      // The rules of the service run in the browser as they are; this is all of Node that they ask for.
      'node:url': resolve(import.meta.dirname, 'api/node-url.ts'),
    },
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // No file may come from an address of data: the policy forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: 'es2024',
  },
});
