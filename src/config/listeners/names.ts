/** The listeners of a service, each on an address of its own. */
export const LISTENER_NAMES = ['api', 'device', 'ops', 'panel'] as const;
export type ListenerName = (typeof LISTENER_NAMES)[number];

/** The variable with the address of a listener. */
export const listenVariable = (name: ListenerName): string => `MUSTER_${name.toUpperCase()}_LISTEN`;
