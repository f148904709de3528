/** A mistake in the configuration. The message names the variable and the rule, never the value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Runs a parser that knows no variable: its error gets the name. @throws ConfigError */
export function named<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ConfigError(`${name}: ${(error as Error).message}`, { cause: error });
  }
}
