import { systemClock } from '../time/clock.ts';

/**
 * Bounds how long work is waited for. It stands on the path of every request on etcd, and costs half of what a race of
 * promises in an async function does.
 *
 * A process that stood still (it was stopped, or its machine was) finds its timers due before it finds the answers that
 * came meanwhile. So a timer that is late by half of its time or more waits for that half again.
 * @param ms milliseconds
 * @param late makes the error where the time is up; the work goes on, and its outcome is dropped
 * @throws whatever the work throws, and what `late` returns
 */
export function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const [due, half] = [systemClock.monotonic() + ms, ms / 2];
    let timer = setTimeout(() => {
      if (systemClock.monotonic() < due + half) reject(late());
      else timer = setTimeout(() => reject(late()), half);
    }, ms);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
