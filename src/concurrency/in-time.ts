/**
 * Bounds how long work is waited for. It stands on the path of every request on etcd, and costs half of what a race of
 * promises in an async function does.
 *
 * A process that stood still (it was stopped, or its machine was) finds timers due before it finds the answers that came
 * meanwhile. So the time is waited for in two halves: a standstill, however long, ends one of them at most, and the other
 * is left to the answers.
 * @param ms milliseconds
 * @param late makes the error where the time is up; the work goes on, and its outcome is dropped
 * @throws whatever the work throws, and what `late` returns
 */
export function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const half = Math.floor(ms / 2);
    let timer = setTimeout(() => {
      timer = setTimeout(() => reject(late()), ms - half);
    }, half);
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
