import { EXIT } from '../terminal/exit-codes.ts';

/* Texts that stand in the help of several commands. */

export const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}  done
  ${EXIT.failed}  failed
  ${EXIT.usage}  wrong usage or configuration
  ${EXIT.bad}  done, and what was checked is not as it should be (audit verify, backup verify, doctor,
     rollout status)
  ${EXIT.notFound}  the service has nothing of that name
  ${EXIT.notAuthorised}  the service does not take the API key or the token`;

/** The option of what deletes things. */
export const IGNORE_MISSING = ['--ignore-missing', 'what is not there is no failure', false] as const;
