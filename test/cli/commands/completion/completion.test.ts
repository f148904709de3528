import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { complete } from '../../../../src/cli/commands/completion/complete.ts';
import { muster as program } from '../../../../src/cli/program.ts';
import { LossyProxy } from '../../../support/http/lossy-proxy.ts';
import { COMPILED } from '../../../support/service/compiled.ts';
import type { Store } from '../../../../src/store/port.ts';
import { earlierAccount } from '../../../support/records/earlier-account.ts';
import { connectedTo, MAIN, musterCommand, musterHere } from '../../../support/service/muster-command.ts';
import { createApp, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../../support/service/muster.ts';

/* `muster completion`, and what its scripts ask for at each TAB: `muster complete -- WORDS…`. */

let muster: Muster;
let store: Store;
let owner: Tenant;
let folder: string;
beforeAll(async () => {
  muster = await Muster.start({ wrapStore: (opened) => (store = opened) });
  owner = await tenant(muster);
  folder = mkdtempSync(join(tmpdir(), 'muster-completion-'));
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/**
 * The program prints these texts in this process, and nothing on stderr, where the service has an hour in place of a
 * second.
 */
async function asked(words: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const printed: string[] = [];
  using kept = new DisposableStack();
  kept.use(vi.spyOn(console, 'log').mockImplementation((line) => void printed.push(String(line))));
  kept.use(vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text).trimEnd()) > 0));
  const errors = kept.use(vi.spyOn(process.stderr, 'write').mockImplementation(() => true));
  await complete(program(env), words, env, { deadlineMs: 3_600_000 });
  expect(errors).not.toHaveBeenCalled();
  return printed;
}

const withoutDescriptions = (lines: readonly string[]): string[] => lines.map((line) => line.split('\t')[0] ?? '');

/** The lines without their descriptions; the last one is the directive. */
const completed = async (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> =>
  withoutDescriptions((await asked(words, env)).flatMap((text) => text.split('\n')));

/** The same by a process of its own, which says nothing else. */
async function completedApart(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await musterCommand(['complete', '--', ...words], env);
  expect([code, stderr]).toEqual([0, '']);
  return withoutDescriptions(stdout.trimEnd().split('\n'));
}

describe('what the program knows', () => {
  test.each([
    [['us'], ['users', 'usage', ':4'], 'a command'],
    [['audit', 'v'], ['verify', ':4'], 'a command of a noun'],
    [['--url', 'http://x', 'audit', 'v'], ['verify', ':4'], 'behind a global option'],
    [['--con'], ['--context', ':4'], 'a global option before the noun'],
    [['apps', '--con'], ['--context', ':4'], 'a global option before the verb'],
    [['-o', 'js'], ['json', 'jsonl', ':4'], 'its choices there'],
    [['--yes', 'audit', 'v'], ['verify', ':4'], 'behind one without a value'],
    [['completion', '--con'], [':4'], 'no global option where the command takes none'],
    [['nonsense', 'v'], [':4'], 'nothing of a command that there is not'],
    [['usage', '--mo'], ['--month', ':4'], 'an option'],
    [['usage', '--month=2026-01', '--out'], ['--output', ':4'], 'an option behind one with its value'],
    [['usage', '-o', ''], ['table', 'json', 'jsonl', 'csv', 'id', ':4'], 'the choices of an option'],
    [['usage', '--output=c'], ['csv', ':4'], 'a choice in the same word'],
    [['completion', ''], ['bash', 'zsh', 'fish', ':4'], 'the choices of an argument'],
    [['usage', '--month', ''], [':4'], 'nothing where only the person knows'],
    [['restore', ''], [':0'], 'files, which the shell knows'],
    [['context', 'add', '--ca-file', ''], [':0'], 'files of an option'],
    [['agent', 'enroll', '--opamp', ''], [':0'], 'folders of an option'],
    [['comple'], ['completion', ':4'], 'the public command alone'],
  ])('%j → %j (%s)', async (words, lines) => {
    expect(await completed(words)).toEqual(lines);
  });

  test('a line without words has every command but the hidden one', async () => {
    const lines = await completedApart(['']);
    expect(lines).toEqual(expect.arrayContaining(['serve', 'doctor', 'context', 'completion']));
    expect(lines).not.toContain('complete');
    expect((await musterHere(['--help'])).stdout).not.toMatch(/^ +complete /m);
  });
});

describe('ids', () => {
  test('of accounts, with their names, which move no terminal and make no second line', async () => {
    await earlierAccount(muster, store, 'a\tname\u001b[31m');
    const lines = await asked(['usage', '--account', ''], connectedTo(muster));
    expect(lines).toHaveLength(3);
    expect(lines).toEqual(
      expect.arrayContaining([
        `${owner.accountId}\ttenant`,
        expect.stringMatching(/^[a-z0-9]{16}\ta[^\t]+name\P{Cc}+$/u),
      ]),
    );
    expect(lines.at(-1)).toBe(':4');
    expect(await asked(['usage', `--account=${owner.accountId.slice(0, 12)}`], connectedTo(muster))).toEqual([
      `${owner.accountId}\ttenant`,
      ':4',
    ]);
    expect(await asked(['usage', '-a', 'no-id'], connectedTo(muster))).toEqual([':4']);
  });

  test('of apps, of the service that the line names, and one behind another', async () => {
    const { apiKey } = await tenant(muster);
    const { appId } = await createApp(muster, apiKey, 'edge 1');
    const env = { MUSTER_CLIENT_API_KEY: apiKey };
    const line = `${appId}\tedge 1, pending`;
    expect(await asked(['apps', 'revoke', ''], { ...env, MUSTER_CLIENT_URL: muster.api })).toEqual([line, ':4']);
    const elsewhere = { ...env, MUSTER_CLIENT_URL: 'http://127.0.0.1:1' };
    expect(await asked(['apps', 'revoke', '--url', muster.api, ''], elsewhere)).toEqual([line, ':4']);
    expect(await asked(['--url', muster.api, 'apps', 'revoke', 'x', appId.slice(0, 12)], elsewhere)).toEqual([
      line,
      ':4',
    ]);
    expect(await asked(['apps', 'revoke', `--url=${muster.api}`, ''], elsewhere)).toEqual([line, ':4']);
    expect(await asked(['apps', 'revoke', ''], elsewhere)).toEqual([':4']);
  });

  test('of contexts, and of the service of the context that the line names', async () => {
    const { apiKey } = await tenant(muster);
    const { appId } = await createApp(muster, apiKey);
    const env = { HOME: folder };
    writeFileSync(join(folder, 'key'), apiKey, { mode: 0o600 });
    const flags = ['--url', muster.api, '--api-key-file', join(folder, 'key')];
    expect((await musterHere(['context', 'add', 'here', ...flags], env)).code).toBe(0);
    expect((await musterHere(['context', 'add', 'nowhere', '--url', 'http://127.0.0.1:1'], env)).code).toBe(0);
    expect(await completed(['context', 'use', ''], env)).toEqual(['here', 'nowhere', ':4']);
    expect(await completed(['context', 'add', ''], env)).toEqual([':4']);
    expect(await completed(['usage', '--context', 'n'], env)).toEqual(['nowhere', ':4']);
    expect(await completed(['--context', 'n'], env)).toEqual(['nowhere', ':4']);
    expect(await completed(['--context='], env)).toEqual(['here', 'nowhere', ':4']);
    expect(await completed(['apps', '--context', 'h'], env)).toEqual(['here', ':4']);
    expect(await asked(['apps', 'revoke', '--context', 'here', ''], env)).toEqual([`${appId}\tapp, pending`, ':4']);
    expect(await asked(['apps', 'revoke', '--context', 'nowhere', ''], env)).toEqual([':4']);
  });

  test('are not asked of an address on the line that no context has: the secret goes nowhere before Enter', async () => {
    const { apiKey } = await tenant(muster);
    const { appId } = await createApp(muster, apiKey);
    await using proxy = await LossyProxy.before(muster.api);
    // The same machine by a name that is not one of the loopback.
    const url = proxy.url.replace('127.0.0.1', '0.0.0.0');
    const home = join(folder, 'strange');
    mkdirSync(home);
    const env = { HOME: home, MUSTER_CLIENT_API_KEY: apiKey, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
    expect(await asked(['apps', 'revoke', '--url', url, ''], env)).toEqual([':4']);
    expect(await completed(['usage', '--url', url, '--account', ''], env)).toEqual([':4']);
    expect(proxy.seen).toEqual([]);
    expect((await musterHere(['context', 'add', 'known', '--url', url], env)).code).toBe(0);
    expect(await asked(['apps', 'revoke', '--url', url, ''], env)).toEqual([`${appId}\tapp, pending`, ':4']);
    // The context says that of owners; the operator's token is of another listener.
    expect(await completed(['usage', '--url', url, '--account', ''], env)).toEqual([':4']);
    expect(proxy.seen.map(({ path }) => path)).toEqual(['/v1/apps']);
  });

  test('at most 50 of them that fit', async () => {
    const { apiKey } = await tenant(muster);
    const ids: string[] = [];
    for (let made = 0; made < 52; made += 1) ids.push((await createApp(muster, apiKey)).appId);
    const env = { MUSTER_CLIENT_API_KEY: apiKey, MUSTER_CLIENT_URL: muster.api };
    expect(await asked(['apps', 'revoke', ''], env)).toHaveLength(51);
    const [last = ''] = ids.slice(-1);
    expect(await asked(['apps', 'revoke', last], env)).toEqual([`${last}\tapp, pending`, ':4']);
  });

  test('are left out in silence without a secret, with a wrong one, and where nobody answers', async () => {
    const words = ['usage', '--account', ''];
    const wrong = { ...connectedTo(muster), MUSTER_CLIENT_OPERATOR_TOKEN: 'x'.repeat(40) };
    expect(await completedApart(words, { MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:1' })).toEqual([':4']);
    expect(await completedApart(words, { MUSTER_CLIENT_OPS_URL: 'no address' })).toEqual([':4']);
    expect(await completedApart(words, wrong)).toEqual([':4']);
    const mute = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void mute.close());
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    expect(await completedApart(words, { ...wrong, MUSTER_CLIENT_OPS_URL: `http://127.0.0.1:${port}` })).toEqual([
      ':4',
    ]);
  });
});

/* A missing shell is announced; where all must run (CI=true), its tests fail. */
const isMissing = (shell: string): boolean =>
  process.env['CI'] !== 'true' &&
  !(process.env['PATH'] ?? '').split(delimiter).some((path) => existsSync(join(path, shell)));

/**
 * What a shell offers, one a line, at a TAB after the line `$2`, where it has read the script `$1` twice. zsh completes
 * on a terminal alone: the two functions of its own that the script calls are replaced.
 */
const OFFERED = {
  bash: [
    '--norc',
    '--noprofile',
    '-c',
    `source "$1"; source "$1"
    COMP_LINE=$2 COMP_POINT=\${#2}
    read -ra COMP_WORDS <<<"$2"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    [[ $(complete -p muster) == 'complete -F _muster muster' ]] || exit 9
    _muster muster "\${COMP_WORDS[-1]}" ''
    printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
  ],
  zsh: [
    '-f',
    '-c',
    `compdef() { [[ "$*" == '_muster muster' ]] || exit 9 }
    _describe() { print -rl -- "\${(@)\${(@P)2}%%:*}" }
    source "$1"; source "$1"
    words=(\${=2}); if [[ $2 == *' ' ]]; then words+=(''); fi
    CURRENT=\${#words}
    _muster`,
    'zsh',
  ],
  fish: [
    '--no-config',
    '-c',
    `source $argv[1]; source $argv[1]
    complete -C $argv[2] | string replace -r '\\t.*' ''; or true`,
  ],
} as const;

describe.each(['bash', 'zsh', 'fish'] as const)('the script of %s', (shell) => {
  const path = (): string => join(folder, `completion.${shell}`);
  const home = (): string => join(folder, shell);
  beforeAll(async () => {
    const { code, stdout, stderr } = await musterCommand(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    writeFileSync(path(), stdout);
    mkdirSync(home());
    writeFileSync(join(home(), 'muster'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(home(), 'muster'), 0o755);
    const context = ['context', 'add', 'elsewhere', '--url', 'http://127.0.0.1:1'];
    expect((await musterHere(context, { HOME: home() })).code).toBe(0);
  });

  test.skipIf(isMissing(shell))(`is read by its shell (needs ${shell})`, () => {
    // By its path: fish reads no script from a socket, which the stdin of a child is.
    const read = spawnSync(shell, ['-n', path()], { encoding: 'utf8' });
    expect(read).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  async function offered(line: string): Promise<string[]> {
    const env = { ...COMPILED, PATH: `${home()}${delimiter}${process.env['PATH']}`, HOME: home() };
    const options = { env, cwd: home() };
    const { stdout, stderr } = await promisify(execFile)(shell, [...OFFERED[shell], path(), line], options);
    expect(stderr).toBe('');
    const replies = stdout.split('\n').filter((reply) => reply !== '');
    return replies.toSorted();
  }

  test.skipIf(isMissing(shell))(`completes, and carries out nothing of the line (needs ${shell})`, async () => {
    expect(await offered('muster aud')).toEqual(['audit']);
    expect(await offered('muster audit ')).toEqual(['help', 'list', 'verify']);
    expect(await offered('muster usage --output=c')).toEqual([shell === 'fish' ? '--output=csv' : 'csv']);
    expect(await offered('muster --url http://x usage --context el')).toEqual(['elsewhere']);
    // fish completes the command behind a semicolon.
    const end = shell === 'fish' ? '' : '; touch done; usage ';
    expect(await offered(`muster usage $(touch done) \`touch done\` ${end}--mon`)).toEqual(['--month']);
    expect(existsSync(join(home(), 'done'))).toBe(false);
  });
});

/** The start of a zsh that completes lines, writes down what they become, and ends. */
const AT_A_TAB = `
autoload -U compinit
compinit -D -u
source "$HOME/completion.zsh"
completed() {
  for line in "\${(@f)$(<$HOME/lines)}"; do
    BUFFER=$line CURSOR=$#line
    zle complete-word
    print -r -- "$BUFFER"
  done >"$HOME/completed"
  exit
}
zle -N zle-line-init completed
`;

test.skipIf(isMissing('zsh'))('zsh on a terminal, with its own functions: the same (needs zsh)', async () => {
  const home = join(folder, 'terminal');
  mkdirSync(home);
  const { stdout } = await musterCommand(['completion', 'zsh']);
  writeFileSync(join(home, 'completion.zsh'), stdout);
  writeFileSync(join(home, '.zshrc'), AT_A_TAB);
  writeFileSync(join(home, 'names.csv'), '');
  writeFileSync(join(home, 'muster'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
  const lines = [
    ['muster aud', 'muster audit '],
    ['muster usage --output=c', 'muster usage --output=csv '],
    ['muster apps create --from=nam', 'muster apps create --from=names.csv '],
    ['muster apps list --status=$(>done)=', 'muster apps list --status=$(>done)='],
    ['muster apps create --from=$(>done)a', 'muster apps create --from=$(>done)a'],
  ] as const;
  writeFileSync(join(home, 'lines'), lines.map(([line]) => line).join('\n'));
  const env = {
    ...COMPILED,
    PATH: `${home}${delimiter}${process.env['PATH']}`,
    HOME: home,
    ZDOTDIR: home,
    TERM: 'dumb',
  };
  const script = 'zmodload zsh/zpty; zpty terminal zsh -d -i; while zpty -r terminal _; do :; done';
  await promisify(execFile)('zsh', ['-f', '-c', script], { env, cwd: home });
  expect(readFileSync(join(home, 'completed'), 'utf8').split('\n')).toEqual([...lines.map(([, line]) => line), '']);
  expect(existsSync(join(home, 'done'))).toBe(false);
});

test('of another shell there is no script', async () => {
  expect((await musterHere(['completion', 'powershell'])).code).toBe(2);
});
