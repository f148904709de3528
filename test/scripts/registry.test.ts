import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestIn } from '../../scripts/container-tool.ts';
import { withImage } from '../../scripts/published-chart.ts';
import { parseRegistry } from '../../scripts/registry.ts';
import { readToolArguments } from '../../scripts/tool-arguments.ts';
import { VERSION } from '../../src/version.ts';

/* What `npm run image` and `npm run publish-release` take, and what they write into the chart. */

const ROOT = resolve(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');
const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('a registry', () => {
  test.each([
    ['registry.example.com', 'registry.example.com', 'muster', false, 'a host with a dot'],
    ['registry.example.com/team/a-b/', 'registry.example.com', 'team/a-b/muster', false, 'a slash at the end is none'],
    ['localhost:5000/x', 'localhost:5000', 'x/muster', true, 'localhost needs no dot'],
    ['127.0.0.1:5000', '127.0.0.1:5000', 'muster', true, 'the loopback'],
    ['127.255.255.254', '127.255.255.254', 'muster', true, 'the end of the loopback'],
    ['127.0.0.1.example.com', '127.0.0.1.example.com', 'muster', false, 'a name that begins like it'],
    ['128.0.0.1:5000', '128.0.0.1:5000', 'muster', false, 'the address after it'],
  ])('%s → %s and %s, loopback %s (%s)', (text, host, repository, isLoopback) => {
    const place = text.replace(/\/$/, '');
    expect(parseRegistry([text])).toEqual({ host, place, repository, isLoopback });
  });

  test.each([
    [[], 'none'],
    [['a.example.com', 'b.example.com'], 'two'],
    [['https://registry.example.com'], 'a scheme'],
    [['user:secret@registry.example.com'], 'credentials'],
    [['registry/team'], 'a host without a dot is a folder of a public registry'],
    [['registry.example.com/Team'], 'upper case'],
    [['registry.example.com/../team'], 'a way up'],
    [['registry.example.com//team'], 'an empty part'],
    [['--tls-verify=false.example.com'], 'an option'],
    [[`registry.example.com/${'a'.repeat(200)}`], 'longer than anybody has'],
  ])('%j is refused (%s), and the text is not repeated', (args) => {
    const refusal = (): unknown => parseRegistry(args);
    expect(refusal).toThrow(
      /^(?:Name one registry|A registry is HOST\[:PORT\]\[\/PATH\] in lower case, without .*)\.$/,
    );
    expect(refusal).not.toThrow(/secret/);
  });
});

describe('arguments', () => {
  test('what follows -- is the tool’s own, whatever it looks like', () => {
    expect(readToolArguments(['--with', 'buildah', 'r.example.com', '--', '--with', 'x', '--', 'y'])).toEqual({
      wanted: 'buildah',
      plainHttp: false,
      release: { transparencyLog: false },
      positionals: ['r.example.com'],
      further: ['--with', 'x', '--', 'y'],
    });
    expect(readToolArguments(['--plain-http'])).toMatchObject({ wanted: undefined, plainHttp: true, further: [] });
  });

  test.each([
    [['--with', 'kaniko'], '--with is one of docker, podman, buildah.'],
    [['--with'], /--with/],
    [['--password=secret'], /^(?!.*secret).*--password/s],
  ])('%j is refused', (args, words) => {
    expect(() => readToolArguments(args)).toThrow(words);
  });
});

describe('the values of a published chart', () => {
  const image = { registry: '127.0.0.1:5000', repository: 'a/muster', digest: DIGEST };

  test('name the image, and differ in nothing else', () => {
    const before = textOf('charts/muster/values.yaml').split('\n');
    const after = withImage(before.join('\n'), image).split('\n');
    expect(after.filter((line, index) => line !== before[index])).toEqual([
      "  registry: '127.0.0.1:5000'",
      "  repository: 'a/muster'",
      `  digest: '${DIGEST}'`,
    ]);
  });

  test.each(['registry', 'repository', 'digest'])(
    'are refused without image.%s, also where another section has it',
    (key) => {
      const without = textOf('charts/muster/values.yaml').replace(new RegExp(`^ {2}${key}: .*\\n`, 'm'), '');
      expect(() => withImage(`${without}\nother:\n  ${key}: ''\n`, image)).toThrow(`has no image.${key}.`);
    },
  );
});

describe('a digest', () => {
  test.each([
    [`0.1.0: digest: ${DIGEST} size: 1574\n`, 'as docker ends its output'],
    [`Pushed: r.example.com/charts/muster:0.1.0\nDigest: ${DIGEST}\n`, 'as helm does'],
  ])('%j is found (%s)', (output) => {
    expect(digestIn(output, 'it')).toBe(DIGEST);
  });

  test.each(['', `digest: ${DIGEST.slice(0, -1)}`, `digest: sha512:${'0a'.repeat(64)}`])('%j has none', (output) => {
    expect(() => digestIn(output, 'it')).toThrow('The digest of it is not in the answer');
  });
});

describe('docs/INSTALL.md', () => {
  const section = /^## The image\n(.*?)^## /ms.exec(textOf('docs/INSTALL.md'))?.[1] ?? '';
  const blocks = [...section.matchAll(/^### ([^\n]+)\n+(?:[^`]*?\n)?```sh\n(.*?)^```/gms)];

  test.each([
    ['kind', 'kind load image-archive', 'standard'],
    ['k3d', 'k3d image import', 'local-path'],
    ['minikube', 'minikube image load', 'standard'],
  ])(
    '%s: builds, loads that archive, and installs with the StorageClass, in this order',
    (title, load, storageClass) => {
      const block = blocks.find(([, found]) => found === title)?.[2] ?? '';
      const steps = [
        'npm run image\n',
        `${load} dist-image/muster-${VERSION}.tar\n`,
        'helm install ',
        storageClass,
        'helm test ',
      ];
      const places = steps.map((step) => block.indexOf(step));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((one, other) => one - other));
    },
  );

  test('a registry: publishes before it installs, in the version of this program', () => {
    const block = blocks.find(([, found]) => found === 'A registry')?.[2] ?? '';
    expect(block.indexOf('npm run publish-release -- $REGISTRY\n')).toBeGreaterThan(0);
    expect(block.indexOf(`helm install muster oci://$REGISTRY/charts/muster --version ${VERSION} `)).toBeGreaterThan(
      block.indexOf('npm run publish-release'),
    );
  });
});
