import {
  createConfiguration,
  type CustomObjectsApi,
  type RequestContext,
  type ResponseContext,
} from '@kubernetes/client-node';
import * as z from 'zod';
import { CommandFault } from '../../terminal/exit.ts';
import { statusOf } from './cluster.ts';

const GROUP = { group: 'muster.dev', version: 'v1beta1' } as const;
export const KINDS = [
  { kind: 'FleetAccount', plural: 'fleetaccounts' },
  { kind: 'FleetApiKey', plural: 'fleetapikeys' },
  { kind: 'FleetApp', plural: 'fleetapps' },
  { kind: 'FleetOtelConfig', plural: 'fleetotelconfigs' },
] as const;
/** The time that the API server has for an answer, where `--timeout` gives no other. */
export const REQUEST_MS = 10_000;
const PAGE = 500;
/** All of them are kept in memory to be sorted. */
const RESOURCES_MAX = 100_000;
/** A listing whose pages have expired begins anew. */
const ATTEMPTS_MAX = 3;
const GONE = 410;

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().catch(''),
  message: z.string().catch(''),
  observedGeneration: z.number().optional().catch(undefined),
});

/**
 * The part of a resource that is read. Its status may be of another version of Muster, so nothing of that is required.
 */
const listed = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string().optional(),
    generation: z.number().catch(0),
    creationTimestamp: z.string().optional(),
    deletionTimestamp: z.string().optional(),
  }),
  status: z
    .object({
      observedGeneration: z.number().optional().catch(undefined),
      conditions: z.array(condition).catch([]),
    })
    .catch({ conditions: [] }),
});
export type Listed = z.infer<typeof listed>;

const page = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(listed),
});

/**
 * Makes the function that lists the resources of a kind in a namespace, or in all, page by page.
 * @param requestMs how long the API server has for each page
 * @throws what the client throws; CommandFault where the API server does not answer in time, answers as none does, or
 * has too many
 */
export function resourceListing(
  api: CustomObjectsApi,
  requestMs: number,
): (plural: string, namespace: string | undefined) => Promise<Listed[]> {
  const inTime = () => {
    const signal = AbortSignal.timeout(requestMs);
    const pre = async (request: RequestContext): Promise<RequestContext> => {
      request.setSignal(signal);
      return request;
    };
    const post = async (response: ResponseContext): Promise<ResponseContext> => response;
    // The client's own way to give a request a middleware that is made of promises.
    const { middleware } = createConfiguration({ promiseMiddleware: [{ pre, post }] });
    return { signal, options: { middleware, middlewareMergeStrategy: 'append' as const } };
  };

  async function onePage(plural: string, namespace: string | undefined, next: string | undefined) {
    const { signal, options } = inTime();
    const request = { ...GROUP, plural, limit: PAGE, ...(next !== undefined && { _continue: next }) };
    try {
      const answer: unknown =
        namespace === undefined
          ? await api.listCustomObjectForAllNamespaces({ ...request, resourcePlural: plural }, options)
          : await api.listNamespacedCustomObject({ ...request, namespace }, options);
      const parsed = page.safeParse(answer);
      if (!parsed.success) throw new CommandFault(`The API server answers a listing of ${plural} as none does.`);
      return parsed.data;
    } catch (error) {
      if (!signal.aborted) throw error;
      const seconds = requestMs / 1000;
      throw new CommandFault(`The API server does not answer a listing of ${plural} within ${seconds} s.`);
    }
  }

  return async (plural, namespace) => {
    for (let attempt = 1; ; attempt += 1) {
      const found: Listed[] = [];
      try {
        let next: string | undefined;
        do {
          const { items, metadata } = await onePage(plural, namespace, next);
          found.push(...items);
          if (found.length > RESOURCES_MAX) throw new CommandFault(`There are more than ${RESOURCES_MAX} ${plural}.`);
          next = metadata.continue || undefined;
        } while (next !== undefined);
        return found;
      } catch (error) {
        if (statusOf(error) !== GONE || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  };
}
