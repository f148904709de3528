import { answerBench } from './answering.ts';

/** A process that has nothing to do: what delays its event loop is the machine. */
answerBench();
setInterval(() => undefined, 1000);
process.send?.({});
