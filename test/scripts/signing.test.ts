import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { ToolError } from '../../scripts/container-tool.ts';
import { Cosign } from '../../scripts/signing.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

/*
 * What cosign is asked by `npm run publish-release`, noted by a program in its place.
 * test/cluster/image/publish-release.test.ts signs by cosign itself where it is there.
 */

const folder = scratchDirectory('signing');
const asked = join(folder, 'asked');
const program = join(folder, 'cosign');
const KEY = join(folder, 'cosign.key');
const IMAGE = `registry.example.com/fleet/muster@sha256:${'a'.repeat(64)}`;
const PUBLIC_KEY = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
afterAll(() => rmSync(folder, { recursive: true }));

/** A cosign that notes what it is asked. What it verifies is sound once it has signed or attested something. */
function installed(...lines: readonly string[]): void {
  const script = [
    '#!/bin/sh',
    `echo "$*" >>'${asked}'`,
    `test "$1" != public-key || printf '%b' '${PUBLIC_KEY.replaceAll('\n', '\\n')}'`,
    ...lines,
    `case $1 in sign | attest) touch '${folder}/signed' ;; verify | verify-attestation) test -e '${folder}/signed' ;; esac`,
  ];
  writeFileSync(program, script.join('\n'), { mode: 0o755 });
}
const commands = (): string[] =>
  readFileSync(asked, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(`${folder}/`, ''));

beforeEach(() => {
  for (const path of [asked, join(folder, 'signed')]) rmSync(path, { force: true });
});

describe.skipIf(process.platform === 'win32')('cosign', () => {
  const signing = { key: KEY, plainHttp: false, transparencyLog: false, program };

  test('signs what a digest names, writes to no public log, and the signature is read back by the public key', () => {
    installed();
    new Cosign(signing, folder).sign(IMAGE);
    const quiet = '--new-bundle-format=false --use-signing-config=false --tlog-upload=false';
    const verify = `verify --key cosign.pub --new-bundle-format=false --insecure-ignore-tlog=true ${IMAGE}`;
    expect(commands()).toEqual([
      'public-key --key cosign.key',
      verify,
      `sign --yes --key cosign.key ${quiet} ${IMAGE}`,
      verify,
    ]);
    expect(readFileSync(join(folder, 'cosign.pub'), 'utf8')).toBe(PUBLIC_KEY);
  });

  test('signs nothing a second time', () => {
    installed();
    writeFileSync(join(folder, 'signed'), '');
    const cosign = new Cosign(signing, folder);
    cosign.sign(IMAGE);
    cosign.attest(IMAGE, 'bill.json');
    expect(commands().map((line) => line.split(' ')[0])).toEqual(['public-key', 'verify', 'verify-attestation']);
  });

  test('attests a bill of materials; by plain HTTP and to the public log where that is asked for', () => {
    installed();
    new Cosign({ ...signing, plainHttp: true, transparencyLog: true }, folder).attest(IMAGE, 'bill.json');
    const verify = `verify-attestation --key cosign.pub --new-bundle-format=false --allow-http-registry --type cyclonedx ${IMAGE}`;
    expect(commands().slice(1)).toEqual([
      verify,
      `attest --yes --key cosign.key --new-bundle-format=false --allow-http-registry --type cyclonedx --predicate bill.json ${IMAGE}`,
      verify,
    ]);
  });

  test('signs a file, with the signature beside it', () => {
    installed();
    new Cosign(signing, folder).signFile('a.tgz');
    expect(commands().slice(1)).toEqual([
      'sign-blob --yes --key cosign.key --new-bundle-format=false --use-signing-config=false --tlog-upload=false --bundle a.tgz.sig.json a.tgz',
      'verify-blob --key cosign.pub --new-bundle-format=false --insecure-ignore-tlog=true --bundle a.tgz.sig.json a.tgz',
    ]);
  });

  test('that signs and leaves nothing to read back is a fault', () => {
    installed('test "$1" != sign || exit 0');
    expect(() => new Cosign(signing, folder).sign(IMAGE)).toThrow(ToolError);
  });

  test('that is not there, or cannot use the key, is told before anything is signed', () => {
    expect(() => new Cosign({ ...signing, program: join(folder, 'none') }, folder)).toThrow(/cannot be run/);
    installed('echo "wrong password" >&2; exit 1');
    expect(() => new Cosign(signing, folder)).toThrow(/wrong password/);
    writeFileSync(program, `#!/bin/sh\n`, { mode: 0o755 });
    expect(() => new Cosign(signing, folder)).toThrow(/tells no public key/);
  });
});
