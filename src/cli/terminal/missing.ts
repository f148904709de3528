import { CommandFault, EXIT, exitCodeOf, wordsOf } from './exit.ts';

/** Whether an error says that a thing is not there. */
export const isMissing = (error: unknown): boolean => exitCodeOf(error) === EXIT.notFound;

/**
 * Says which thing is not there: the service's own words name neither its kind nor its id.
 * @param what such as `There is no app k3v9…`
 * @throws CommandFault with exit code 4 where the thing is missing; what `answer` throws otherwise
 */
export async function orMissing<Answer>(what: string, answer: Promise<Answer>): Promise<Answer> {
  return await answer.catch((error: unknown) => {
    throw isMissing(error) ? new CommandFault(`${what}. ${wordsOf(error)}`, EXIT.notFound) : error;
  });
}
