import { Stage, type Arguments, type SetUp } from './stage.ts';

/* Attacks in a process of its own, on one service: their figures are all that it writes. */
const [, , name = '', asked = ''] = process.argv;
const [setUp, attacks] = JSON.parse(asked) as [SetUp, readonly Arguments[]];
await using stage = await Stage.start(setUp);
const figures = [];
for (const args of attacks) figures.push(await stage.attackedBy(name, { args }));
process.stdout.write(JSON.stringify(figures));
