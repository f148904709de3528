import type { Command } from 'commander';
import type { ListAuditOptions } from '../commands/audit/list.ts';
import type { LimitsOptions } from '../commands/limits.ts';
import type { UsageOptions } from '../commands/usage.ts';
import { addGlobals, CONNECTED, durationIn, matching, wholeNumber, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import { momentIn } from '../terminal/moment.ts';
import type { Environment } from '../terminal/terminal.ts';
import { EXIT_CODES } from './help.ts';

/** `muster audit …`, `muster usage` and `muster limits`: what the service knows of its accounts. */
export function addReports(program: Command, env: Environment): void {
  addUsage(program, env);
  addAudit(program.command('audit').description('the audit of accounts, and of the service'), env);
  addLimits(program, env);
}

const monthOf = matching(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'It is written YYYY-MM, as in 2026-01.');

function addUsage(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('usage')
      .description('show the metered usage of a month, by account')
      .option('-m, --month <YYYY-MM>', 'which month; this one (UTC) by default', monthOf)
      .option('-a, --account <account>', 'of this account alone, by its id or its name')
      .addHelpText('after', '\nIn JSON amounts are in minor units (cents); csv has one row a night.'),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: UsageOptions & GlobalOptions) => {
    const { usage } = await import('../commands/usage.ts');
    await usage(invocation(env, options), options);
  });
}

function addAudit(audit: Command, env: Environment): void {
  addGlobals(
    audit
      .command('list')
      .description('list the entries of an audit, oldest first')
      .option('-a, --account <account>', 'of this account, by its id or its name; without it, that of the service')
      .option('--since <when>', 'from then on: 2h, or a date', momentIn)
      .option('--action <action>', 'of this action alone, as in app.created')
      .option('-f, --follow', 'go on with each entry as it comes, until you stop it', false),
    [...CONNECTED, 'output', 'limit', 'quiet'],
  ).action(async (options: ListAuditOptions & GlobalOptions) => {
    const { listAudit } = await import('../commands/audit/list.ts');
    await listAudit(invocation(env, options), options);
  });
  addGlobals(
    audit
      .command('verify')
      .description('find entries that were removed, added or changed')
      .option('-a, --account <account>', 'of this account alone; `operator` is the audit of the service')
      .addHelpText(
        'after',
        `\nAnyone who can write the store can rewrite the chain: keep the heads elsewhere, and compare them.\n${EXIT_CODES}`,
      ),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: { account?: string } & GlobalOptions) => {
    const { verifyAudit } = await import('../commands/audit/verify.ts');
    await verifyAudit(invocation(env, options), options);
  });
}

const TOP_MAX = 20;

function addLimits(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('limits')
      .description('show which accounts are limited, or near it, and by which key and operation')
      .option('-t, --top <number>', 'so many accounts, 1 to 20', wholeNumber('accounts', TOP_MAX), TOP_MAX)
      .option('-w, --watch', 'show it again and again, until you stop it', false)
      .option('--every <duration>', 'how often, with --watch; 5s by default', durationIn())
      .addHelpText('after', '\nRequests are those of the last minute, over all replicas.'),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: LimitsOptions & GlobalOptions) => {
    const { limits } = await import('../commands/limits.ts');
    await limits(invocation(env, options), options);
  });
}
