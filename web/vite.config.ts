import { resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { showTheme } from './shell/theme.ts';

/* `npm run build:web`: the pages become files in web/dist, whose names hold a hash of their content. */

/**
 * A script that the browser runs before it paints: a module would come after the first paint, and the policy forbids a
 * script within the page.
 */
const themeBeforePaint = (): Plugin => ({
  name: 'theme-before-paint',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle }) {
      const script = Object.keys(bundle ?? {}).find((name) => /theme-[^/]+\.js$/.test(name));
      if (script === undefined) throw new Error('The script of the theme is missing.');
      return [{ tag: 'script', attrs: { src: `/${script}` }, injectTo: 'head-prepend' }];
    },
  },
  buildStart() {
    this.emitFile({ type: 'asset', name: 'theme.js', source: `(${String(showTheme)})();\n` });
  },
});

/** @public Vite loads it by its path. */
export default defineConfig({
  root: import.meta.dirname,
  publicDir: false,
  plugins: [themeBeforePaint()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  resolve: {
    alias: {
      // The rules of the service run in the browser as they are; this is all of Node that they ask for.
      'node:url': resolve(import.meta.dirname, 'api/node-url.ts'),
    },
  },
  build: {
    outDir: 'dist',
    rolldownOptions: {
      input: {
        index: resolve(import.meta.dirname, 'index.html'),
        // The pages of the help have a style of their own beside that of the panel, which does not load it.
        help: resolve(import.meta.dirname, 'style/help.css'),
      },
    },
    emptyOutDir: true,
    // No file may come from an address of data: the policy forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: 'es2024',
  },
});
