import type { Command } from 'commander';
import { durationIn, LIST, matching, ONE, wholeNumber } from '../terminal/globals.ts';
import { momentIn } from '../terminal/moment.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf, EXIT_CODES } from './declare.ts';

const monthOf = matching(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'It is written YYYY-MM, as in 2026-01.');
const TOP_MAX = 20;

/** `muster audit …`, `muster usage` and `muster limits`: what the service knows of its accounts. */
export function addReports(program: Command, env: Environment): void {
  commandsOf(program, env)('usage', 'show the metered usage of a month, by account', ONE, () =>
    import('../commands/usage.ts').then(({ usage }) => usage),
  )
    .option('-m, --month <YYYY-MM>', 'which month; this one (UTC) by default', monthOf)
    .option('-a, --account <account>', 'of this account alone, by its id or its name')
    .addHelpText('after', '\nIn JSON amounts are in minor units (cents); csv has one row a night.');
  addAudit(program.command('audit').description('the audit of accounts, and of the service'), env);
  commandsOf(program, env)(
    'limits',
    'show which accounts are limited, or near it, and by which key and operation',
    ONE,
    () => import('../commands/limits.ts').then(({ limits }) => limits),
  )
    .option('-t, --top <number>', 'so many accounts, 1 to 20', wholeNumber('accounts', TOP_MAX), TOP_MAX)
    .option('-w, --watch', 'show it again and again, until you stop it', false)
    .option('--every <duration>', 'how often, with --watch; 5s by default', durationIn())
    .addHelpText('after', '\nRequests are those of the last minute, over all replicas.');
}

function addAudit(audit: Command, env: Environment): void {
  const list = commandsOf(audit, env)('list', 'list the entries of an audit, oldest first', LIST, () =>
    import('../commands/audit/list.ts').then(({ listAudit }) => listAudit),
  );
  const following = 'go on with each entry as it comes, until you stop it';
  list
    .option('-a, --account <account>', 'of this account, by its id or its name; without it, that of the service')
    .option('--since <when>', 'from then on: 2h, or a date', momentIn)
    .option('--until <when>', 'before then: 2h, or a date', momentIn)
    .option('--action <action>', 'of this action alone, as in app.created, or of all that begin so, as in app.')
    .option('--actor <actor>', 'of this actor alone, as in user:ID')
    .option('--app <id>', 'of this app alone')
    .option('--newest', 'the newest entry first', false)
    .addOption(list.createOption('-f, --follow', following).default(false).conflicts(['newest', 'until']));
  commandsOf(audit, env)('verify', 'find entries that were removed, added or changed', ONE, () =>
    import('../commands/audit/verify.ts').then(({ verifyAudit }) => verifyAudit),
  )
    .option('-a, --account <account>', 'of this account alone; `operator` is the audit of the service')
    .addHelpText(
      'after',
      `\nAnyone who can write the store can rewrite the chain: keep the heads elsewhere, and compare them.\n${EXIT_CODES}`,
    );
}
