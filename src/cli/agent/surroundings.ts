/*
 * The reference daemon knows the client and the platform alone, as a daemon in a repository of its own would. What it
 * shares with the command line is handed to it.
 */

/** The surroundings of a daemon: time, chance, the disk, and the person who reads its words. */
export interface Surroundings {
  /** Tells a person what happens, a line at a time. No text holds a secret. */
  readonly say: (text: string) => void;
  readonly clock: {
    /** Milliseconds from an arbitrary start; never goes back. */
    monotonic(): number;
    /** Resolves after the pause, or at once when the signal aborts; never rejects. */
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
  };
  /** A number in [0, 1) that spreads retries. */
  readonly jitter: () => number;
  /** Random bytes that nobody can guess. */
  readonly randomBytes: (count: number) => Buffer;
  readonly files: AgentFiles;
  /** The environment, of which the command on a change is handed a part. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that the command on a change may take. */
  readonly commandMs: number;
}

/**
 * Files that their owner alone can read at first, there whole or not at all, and on the disk when the promise resolves.
 */
export interface AgentFiles {
  /** @throws the system's error, `EEXIST` where the name is taken */
  create(path: string, text: string): Promise<void>;
  /** Puts the text in the place of what is there, by a rename. @throws the system's error */
  replace(path: string, text: string): Promise<void>;
  /**
   * The same, and where a file of this user's own is there that its group may read, the new one is that group's to
   * read, too. @throws the system's error, `EPERM` where this user may not give a file to that group
   */
  renew(path: string, text: string): Promise<void>;
}

/**
 * Ends the daemon with a sentence for a person.
 * `usage`: it was called wrongly, and nothing was tried. `refused`: the service does not take its code or credential.
 */
export class AgentFault extends Error {
  override readonly name = 'AgentFault';
  readonly kind: 'usage' | 'refused' | 'failed';

  constructor(kind: AgentFault['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}
