import type { Command } from 'commander';
import { CONNECTED, ONE } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];
const NONE: readonly string[] = [];

/** `muster status`, `muster api` and `muster openapi`; the code of each is loaded when it is called. */
export function addService(program: Command, env: Environment): void {
  commandsOf(program, env)(
    'status',
    'show whether the service is ready, with its version, addresses and apps',
    ONE,
    () => import('../commands/service/status.ts').then(({ serviceStatus }) => serviceStatus),
  ).addHelpText(
    'after',
    '\nIt ends with 0 where the service is ready, 3 where it is not, and 1 where it cannot be reached.',
  );
  commandsOf(program, env)(
    'api',
    'send any request to /v1, with the API key, or to /operator/v1, with the token; print the answer',
    [...CONNECTED, 'quiet'],
    () => import('../commands/service/api.ts').then(({ callApi }) => callApi),
  )
    .argument('<method>', 'as in GET')
    .argument('<path>', 'as in /v1/apps, with a query where you like')
    .option(
      '-f, --field <name=value>',
      'a field of the body, or of the query of GET and DELETE: a number, true, false or null as such; @file is the text of a file, @- of stdin',
      collected,
      NONE,
    )
    .option('--raw-field <name=value>', 'a field that is text, whatever it looks like', collected, NONE)
    .option('--input <file>', 'the JSON body; - is stdin')
    .option('--idempotency-key <key>', 'for a create: it is then sent again where its answer is lost');
  const openapi = commandsOf(program, env)(
    'openapi',
    'print the OpenAPI document of an API; no service is asked',
    [],
    () => import('../commands/service/openapi.ts').then(({ printDocument }) => printDocument),
  );
  openapi.addArgument(openapi.createArgument('[api]').choices(['v1', 'device', 'operator']).default('v1'));
}
