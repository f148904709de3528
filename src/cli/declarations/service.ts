import type { Command } from 'commander';
import type { ApiOptions } from '../commands/service/api.ts';
import { addGlobals, CONNECTED, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster status`, `muster api` and `muster openapi`; the code of each is loaded when it is called. */
export function addService(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('status')
      .description('show whether the service is ready, with its version, addresses and apps')
      .addHelpText(
        'after',
        '\nIt ends with 0 where the service is ready, 3 where it is not, and 1 where it cannot be reached.',
      ),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: GlobalOptions) => {
    const { serviceStatus } = await import('../commands/service/status.ts');
    await serviceStatus(invocation(env, options));
  });
  addApi(program, env);
  const openapi = program.command('openapi').description('print the OpenAPI document of an API; no service is asked');
  openapi
    .addArgument(openapi.createArgument('[api]').choices(['v1', 'device', 'operator']).default('v1'))
    .action(async (api: 'v1' | 'device' | 'operator') => {
      const { printDocument } = await import('../commands/service/openapi.ts');
      await printDocument(invocation(env, {}), api);
    });
}

const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];
const NONE: readonly string[] = [];

function addApi(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('api')
      .description('send any request to /v1, with the API key, or to /operator/v1, with the token; print the answer')
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
      .option('--idempotency-key <key>', 'for a create: it is then sent again where its answer is lost'),
    [...CONNECTED, 'quiet'],
  ).action(async (method: string, path: string, options: ApiOptions & GlobalOptions) => {
    const { callApi } = await import('../commands/service/api.ts');
    await callApi(invocation(env, options), method, path, options);
  });
}
