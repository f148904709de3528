import process from 'node:process';
import { buildPages } from '../scripts/build-web.ts';
import { dev } from '../src/cli/commands/dev/dev.ts';
import { failed } from '../src/cli/terminal/exit.ts';
import { invocation } from '../src/cli/terminal/invocation.ts';

/* `npm start`: `muster dev` in a checkout, where nobody has installed anything yet. */

await buildPages();
const yes = process.argv.includes('--yes');
await dev(invocation(process.env, { yes }), {}, 'curl').catch(failed);
