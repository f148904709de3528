import { readFileSync } from 'node:fs';
import process from 'node:process';
import { Flood } from '../test/support/service/flood.ts';

/**
 * A flood of polls from a process of its own, which ends with it: `PORT CONNECTIONS FILE`, the file an array of polls.
 */
const [port = '', connections = '', file = ''] = process.argv.slice(2);
const polls = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
const flood = await Flood.start(Number(port), Number(connections), (number) => polls[number % polls.length] ?? '');
process.on('message', () => process.send?.({ answered: [...flood.answered] }));
process.send?.({});
