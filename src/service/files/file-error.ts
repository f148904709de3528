/**
 * The system's error with the file in it that a person knows of: that of reading a directory has none, and that of
 * writing a new file has one that is there for a moment alone.
 */
export function naming(path: string, error: unknown): unknown {
  return error instanceof Error && 'code' in error ? Object.assign(error, { path }) : error;
}
