import { attacked, type AttackOptions } from './stage.ts';

/* An attack in a process of its own: its figures are all that it writes. */
const [, , name = '', options = '{}'] = process.argv;
process.stdout.write(JSON.stringify(await attacked(name, JSON.parse(options) as AttackOptions)));
