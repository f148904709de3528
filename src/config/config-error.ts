/** A mistake in the configuration. The message names the variable and the rule, never the value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
