/** Resolves once it holds, looked at in every turn of the event loop; the test's own time limit bounds it. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
