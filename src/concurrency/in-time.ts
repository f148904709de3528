/**
 * Bounds how long work is waited for. It stands on the path of every request on etcd, and costs half of what a race of
 * promises in an async function does.
 * @param ms milliseconds
 * @param late makes the error where the time is up; the work goes on, and its outcome is dropped
 * @throws whatever the work throws, and what `late` returns
 */
export function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms);
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
