/** A listener that keeps what it was told, lets tests wait for it, and notices calls that the port forbids. */
import type { Store, Watch, WatchBatch, WatchedChange, WatchEnd, WatchListener } from '../../../src/store/port.ts';

export class Recorder implements WatchListener {
  readonly batches: WatchBatch[] = [];
  readonly ends: WatchEnd[] = [];
  /** Calls that must not happen: after the end, before the opening, or out of order. */
  readonly misconduct: string[] = [];
  private opened = 0;
  private waiting: { readonly met: () => boolean; readonly resolve: () => void }[] = [];

  onOpen(): void {
    this.opened += 1;
    if (this.opened > 1) this.misconduct.push('opened twice');
    this.told('onOpen');
  }

  onBatch(batch: WatchBatch): void {
    if (this.opened === 0) this.misconduct.push('batch before onOpen');
    if (batch.revision <= (this.batches.at(-1)?.revision ?? 0)) this.misconduct.push('batches out of order');
    if (batch.changes.some(({ revision }) => revision > batch.revision)) this.misconduct.push('change past its batch');
    this.batches.push(batch);
    this.told('onBatch');
  }

  onEnd(reason: WatchEnd): void {
    this.told('onEnd');
    this.ends.push(reason);
    this.wake();
  }

  get changes(): WatchedChange[] {
    return this.batches.flatMap(({ changes }) => changes);
  }

  /** Resolves when the condition holds; asked again at every call. Fails as soon as the watch ended without it. */
  async until(met: () => boolean): Promise<void> {
    if (!met()) {
      await new Promise<void>((resolve) => {
        this.waiting.push({ met: () => met() || this.ends.length > 0, resolve });
      });
    }
    if (!met()) throw new Error(`the watch ended (${this.ends.join()}) before what was awaited`);
  }

  async untilOpen(): Promise<void> {
    await this.until(() => this.opened > 0);
  }

  async untilEnd(): Promise<void> {
    await this.until(() => this.ends.length > 0);
  }

  async untilChanges(count: number): Promise<void> {
    await this.until(() => this.changes.length >= count);
  }

  private told(call: string): void {
    if (this.ends.length > 0) this.misconduct.push(`${call} after the end`);
    this.wake();
  }

  private wake(): void {
    const met = this.waiting.filter((waiter) => waiter.met());
    this.waiting = this.waiting.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }
}

/** An open watch with its recorder; closed at the end of the block. */
interface Recording extends Disposable {
  readonly recorder: Recorder;
  readonly watch: Watch;
}

export async function record(store: Store, prefix: string, from: number): Promise<Recording> {
  const recorder = new Recorder();
  const watch = store.watch(prefix, from, recorder);
  const recording: Recording = { recorder, watch, [Symbol.dispose]: () => watch.close() };
  await recorder.untilOpen();
  return recording;
}
