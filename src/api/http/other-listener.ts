import { LISTENER_NAMES, listenVariable, type ListenerName } from '../../config/listeners.ts';

/** The listeners as people know them, with what each speaks. */
const LISTENERS: Readonly<Record<ListenerName, { readonly name: string; readonly paths: readonly string[] }>> = {
  api: { name: 'API', paths: ['/v1'] },
  device: { name: 'device', paths: ['/device/v1'] },
  ops: { name: 'ops', paths: ['/operator/v1', '/livez', '/readyz', '/metrics'] },
  panel: { name: "panel's", paths: ['/panel/v1'] },
};

/**
 * The words of `not_found` for a path that is another listener's: a client with the address of the wrong one is told
 * so. Undefined for any other path.
 */
export function otherListener(here: ListenerName, target: string): string | undefined {
  const [path = ''] = target.split('?', 1);
  for (const [other, { name, paths }] of LISTENER_NAMES.map((name) => [name, LISTENERS[name]] as const)) {
    const theirs = paths.find((one) => path === one || path.startsWith(`${one}/`));
    if (theirs === undefined || other === here) continue;
    const speaks = `this is the ${LISTENERS[here].name} listener, which speaks ${LISTENERS[here].paths[0]}`;
    const use = `Use the address of the ${name} listener for ${theirs}; it has a port of its own`;
    return `No such endpoint here: ${speaks}. ${use}, which the service has from ${listenVariable(other)}.`;
  }
  return undefined;
}
