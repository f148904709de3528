import process from 'node:process';
import { dev } from '../src/cli/commands/dev/dev.ts';
import { failed } from '../src/cli/terminal/exit.ts';
import { invocation } from '../src/cli/terminal/invocation.ts';

/* `npm run demo`: `muster dev --agents 25`. */

const yes = process.argv.includes('--yes');
await dev(invocation(process.env, { yes }), { agents: 25 }, 'curl').catch(failed);
