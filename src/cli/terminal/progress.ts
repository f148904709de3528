import process from 'node:process';
import { Presets, SingleBar } from 'cli-progress';

/** The progress of a long command: a bar on stderr, and only where that is a terminal. */
export interface Progress extends Disposable {
  readonly shown: boolean;
  total(total: number): void;
  at(value: number): void;
}

/**
 * @param unit the noun of what is counted, as in `12/30 entries`
 * @param quiet as with `--quiet`: nothing is shown
 */
export function createProgress(unit: string, { quiet = false }: { readonly quiet?: boolean } = {}): Progress {
  const shown = process.stderr.isTTY && !quiet;
  if (!shown) return { shown, total() {}, at() {}, [Symbol.dispose]() {} };
  const bar = new SingleBar(
    {
      format: `{bar} {percentage}% | {value}/{total} ${unit} | {duration_formatted}`,
      stream: process.stderr,
      hideCursor: true,
      clearOnComplete: true,
      stopOnComplete: false,
    },
    Presets.shades_classic,
  );
  bar.start(1, 0);
  return {
    shown,
    total: (total) => bar.setTotal(total),
    at: (value) => bar.update(value),
    [Symbol.dispose]: () => bar.stop(),
  };
}
