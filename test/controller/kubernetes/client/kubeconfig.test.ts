import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../../../src/controller/kubernetes/client/http1-kube-config.ts';

/* KUBECONFIG as a list of files, as `kubectl config view --minify` of 1.36 merges it. */

const home = mkdtempSync(join(tmpdir(), 'muster-kubeconfig-'));
afterAll(() => rmSync(home, { recursive: true }));
mkdirSync(join(home, 'other'));

const context = (name: string) => ({ name, context: { cluster: name, user: name } });
const cluster = (name: string, server: string) => ({ name, cluster: { server } });
const FILES: Readonly<Record<string, object>> = {
  own: {
    'current-context': 'own',
    contexts: [context('own')],
    clusters: [cluster('own', 'https://own')],
    users: [{ name: 'own', user: { token: 'of-own' } }],
  },
  'other/all': {
    'current-context': 'all',
    contexts: [context('all'), context('own')],
    clusters: [cluster('all', 'https://all'), cluster('own', 'https://another')],
    users: [
      { name: 'all', user: { tokenFile: 'token' } },
      { name: 'own', user: { tokenFile: 'token' } },
    ],
  },
  context: { 'current-context': 'all' },
  'no-context': { contexts: [context('none')] },
};
for (const [name, file] of Object.entries(FILES)) writeFileSync(join(home, name), JSON.stringify(file));

test.each<[string[], string, string | undefined, string]>([
  [['own'], 'https://own', undefined, 'one file'],
  [['own', 'other/all'], 'https://own', undefined, 'the first file decides, of the user too'],
  [['other/all', 'own'], 'https://all', 'other/token', 'a tokenFile is beside its own file'],
  [['context', 'own', 'other/all'], 'https://all', 'other/token', 'the current context may stand in a file of its own'],
  [['no-context', 'own'], 'https://own', undefined, 'a file without a current context leaves it to the next'],
  [['missing', 'own'], 'https://own', undefined, 'a file of several may be missing'],
  [['', 'own', ''], 'https://own', undefined, 'empty paths are none'],
])('%j: %s with the token of %s (%s)', (files, server, tokenFile) => {
  const config = loadConfig(files.map((name) => name && join(home, name)).join(delimiter));
  expect([config.getCurrentCluster()?.server, config.tokenFilePath]).toEqual([
    server,
    tokenFile && join(home, tokenFile),
  ]);
});

test.each([
  [['missing'], /ENOENT.*missing/],
  [['missing', 'gone'], /ENOENT.*missing/],
  [['context'], /KUBECONFIG: it names no current cluster/],
  [['', ''], /KUBECONFIG: it names no current cluster/],
])('%j is refused: %s', (files, words) => {
  const list = files.map((name) => name && join(home, name)).join(delimiter);
  expect(() => loadConfig(list)).toThrow(words);
});
