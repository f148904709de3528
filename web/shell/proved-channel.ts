/* The window in which somebody proves at the provider who they are tells the page that waits for it. */

const CHANNEL = 'muster-proof';

interface Told {
  /** Why it failed, in words; absent where it did not. */
  readonly problem?: string;
}

export function tellProof(problem: string | undefined): void {
  const channel = new BroadcastChannel(CHANNEL);
  const told: Told = problem === undefined ? {} : { problem };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel reaches its own origin alone
  channel.postMessage(told);
  channel.close();
}

/** @returns ends it */
export function listenForProof(listener: (problem: string | undefined) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => listener(data.problem));
  return () => channel.close();
}
