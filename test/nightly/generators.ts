import { execFileSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

/* The generators whose clients walk. */

const SCRIPT = join(import.meta.dirname, '../../.ci/build-generators.sh');
const FOR_ALL = (command: string): string => `for api in v1 device operator; do ${command}; done`;
const OPENAPI_GENERATOR = 'openapi-generator generate -i docs/openapi/$api.json';
const WITHOUT_TESTS = '--global-property=apiTests=false,modelTests=false';

export interface Generator {
  readonly name: string;
  readonly version: string;
  readonly language: string;
  /** The words for `.ci/build-generators.sh`; the last tool has what the clients import. */
  readonly tools: readonly (readonly string[])[];
  /** Programs that its clients need beside it. */
  readonly programs?: readonly string[];
  /** Prints its version. */
  readonly says: string;
  /** Makes the clients in a folder with `docs/openapi`; a name is that of its section in docs/API.md. */
  readonly generate: string | { readonly documented: string };
  /** Its warnings of what it does not know in a document. */
  readonly warnings?: readonly string[];
  /** The folder of its walk. */
  readonly walk: string;
  readonly build?: string;
  readonly run: string;
  /** How its clients come to ask for answers in gzip; by themselves where it is not stated. */
  readonly gzip?: 'by a setting' | 'no';
  /** Lines of the walk that are others here, since the generator cannot do better. */
  readonly instead?: Readonly<Record<string, string>>;
  /** All lines of a walk that is another one. */
  readonly prints?: readonly string[];
}

const openapiGeneratorPython = (version: string): Generator => ({
  name: 'openapi-generator',
  version,
  language: 'Python',
  tools: [['openapi-generator', version], ['python']],
  says: 'openapi-generator version',
  generate: FOR_ALL(`${OPENAPI_GENERATOR} -g python --package-name muster_$api -o muster/$api ${WITHOUT_TESTS}`),
  walk: 'openapi-generator-python',
  gzip: 'by a setting',
  run: 'PYTHONPATH=muster/v1:muster/device:muster/operator:$PYTHONPATH exec python3 walk.py',
});

const NEWEST = '7.25.0';
const newestOpenapiGenerator = {
  name: 'openapi-generator',
  version: NEWEST,
  tools: [['openapi-generator', NEWEST]],
  says: 'openapi-generator version',
};

export const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-python-client',
    version: '0.29.1',
    language: 'Python',
    tools: [['python']],
    says: 'openapi-python-client --version',
    generate: { documented: 'openapi-python-client generate' },
    // A type of answer that the generator does not know: the call is there, and gives the bytes.
    warnings: ['GET /operator/v1/backup within keys_and_backups.'],
    walk: 'openapi-python-client',
    run: 'exec python3 walk.py',
  },
  openapiGeneratorPython('7.14.0'),
  openapiGeneratorPython('7.17.0'),
  openapiGeneratorPython(NEWEST),
  {
    name: 'datamodel-code-generator',
    version: '0.89.0',
    language: 'Python',
    tools: [['python']],
    says: 'datamodel-codegen --version',
    generate: FOR_ALL(
      'datamodel-codegen --input docs/openapi/$api.json --input-file-type openapi --output muster/$api.py ' +
        '--output-model-type pydantic_v2.BaseModel --formatters builtin',
    ),
    walk: 'datamodel-code-generator',
    // It makes models alone: the client is the walk's own.
    gzip: 'no',
    run: 'exec python3 walk.py',
    prints: ['v1', 'device', 'operator'].map((api) => `${api}: parsed an answer of each operation`),
  },
  {
    name: 'oapi-codegen',
    version: '2.8.2',
    language: 'Go',
    tools: [['go']],
    says: 'oapi-codegen --version',
    generate: { documented: 'oapi-codegen -generate' },
    walk: 'oapi-codegen',
    build: 'go build -mod=readonly -o walk .',
    run: 'exec ./walk',
  },
  {
    name: 'ogen',
    version: '1.24.0',
    language: 'Go',
    tools: [['ogen']],
    says: 'ogen --version',
    generate: FOR_ALL('ogen --target muster/$api --package $api docs/openapi/$api.json'),
    walk: 'ogen',
    build: 'go build -mod=readonly -o walk .',
    run: 'exec ./walk',
  },
  {
    ...newestOpenapiGenerator,
    language: 'Go',
    programs: ['go'],
    generate: FOR_ALL(
      `${OPENAPI_GENERATOR} -g go --package-name $api -o muster/$api ${WITHOUT_TESTS} ` +
        '--additional-properties=withGoMod=false',
    ),
    walk: 'openapi-generator-go',
    build: 'go build -mod=readonly -o walk .',
    run: 'exec ./walk',
    instead: { 'owner: created a second app': 'owner: created a second app by an empty body: none is 400' },
  },
  {
    ...newestOpenapiGenerator,
    language: 'TypeScript (fetch)',
    generate: FOR_ALL(`${OPENAPI_GENERATOR} -g typescript-fetch -o muster/$api`),
    walk: 'typescript-fetch',
    build: 'ln -s "$MODULES" node_modules; "$NODE" node_modules/typescript/bin/tsc -p .',
    run: 'exec "$NODE" built/walk.js',
  },
  {
    name: 'openapi-typescript',
    version: '7.13.0',
    language: 'TypeScript (openapi-fetch)',
    tools: [['typescript']],
    says: 'openapi-typescript --version',
    generate: FOR_ALL('openapi-typescript docs/openapi/$api.json -o muster/$api.d.ts'),
    walk: 'openapi-typescript',
    build: 'ln -s "$LIBRARIES/node_modules" node_modules; tsc -p .',
    run: 'exec "$NODE" built/walk.mjs',
  },
  {
    ...newestOpenapiGenerator,
    language: 'Java',
    generate: FOR_ALL(
      `${OPENAPI_GENERATOR} -g java -o generated ${WITHOUT_TESTS} --additional-properties=sourceFolder=source,` +
        'invokerPackage=muster.$api,apiPackage=muster.$api.api,modelPackage=muster.$api.model',
    ),
    walk: 'openapi-generator-java',
    build:
      'mv Walk.java generated/source; ' +
      'mvn --quiet --batch-mode compile dependency:copy-dependencies -DoutputDirectory=libraries',
    run: "exec java -cp 'target/classes:libraries/*' Walk",
  },
  {
    ...newestOpenapiGenerator,
    language: 'Rust',
    programs: ['cargo'],
    generate: FOR_ALL(
      `${OPENAPI_GENERATOR} -g rust -o muster/$api ` +
        '--additional-properties=packageName=muster_$api,packageVersion=0.0.0',
    ),
    walk: 'openapi-generator-rust',
    gzip: 'by a setting',
    // The compiled libraries are kept beside the generator: they take minutes.
    build: 'CARGO_TARGET_DIR=$LIBRARIES/rust cargo build --quiet --locked; cp "$LIBRARIES/rust/debug/walk" walk',
    run: 'exec ./walk',
    // No header of an answer: https://github.com/OpenAPITools/openapi-generator/issues/16111
    instead: {
      'owner: stored, read and changed the configuration by its tag':
        'owner: stored, read and changed the configuration by any tag',
      'owner: by the former tag: 412 precondition_failed': 'owner: by another tag: 412 precondition_failed',
      'device: polled by its tag: 304': 'device: polled by any tag: 304, an error without its status',
      'owner: purged the configuration by its tag': 'owner: purged the configuration by any tag',
      'busy: 429 rate_limited, with Retry-After': 'busy: 429 rate_limited',
    },
  },
];

interface Installed {
  /** The environment of its commands; undefined where it is not to be had, which is a failure in CI. */
  readonly env?: NodeJS.ProcessEnv;
  /** Follows the title of tests that are skipped for it. */
  readonly note: string;
}

const told = (program: string, words: readonly string[]): string =>
  execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** Finds a generator, which .ci/build-generators.sh installs where it is missing. */
export function findGenerator({ tools, programs = [] }: Generator): Installed {
  const needs = [...tools.map((tool) => `.ci/build-generators.sh ${tool.join(' ')}`), ...programs].join(', ');
  try {
    for (const program of programs) told('sh', ['-c', `command -v ${program}`]);
    const folders = tools.map((tool) => told(SCRIPT, tool));
    const libraries = dirname(folders.at(-1) ?? '');
    return {
      env: {
        ...process.env,
        PATH: [...folders, process.env['PATH'] ?? ''].join(delimiter),
        // Here pip has laid the generators for Python, with what their clients import.
        PYTHONPATH: libraries,
        LIBRARIES: libraries,
        MODULES: join(import.meta.dirname, '../../node_modules'),
        NODE: process.execPath,
      },
      note: '',
    };
  } catch (error) {
    if (process.env['CI']) throw new Error(`CI needs ${needs}.`, { cause: error });
    return { note: ` [skipped: not all of these are to be had here: ${needs}]` };
  }
}
