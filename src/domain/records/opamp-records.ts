import * as z from 'zod';
import { record, type RecordOf } from './registry.ts';
import { instant } from './shapes.ts';

export const opampRecords = {
  /**
   * The state that an agent of OpAMP has told of itself (docs/CONTRACT.md#opamp). It leaves out what has not changed
   * since its last message, so the service has to remember it, for every replica. It is a daemon's own state, as its
   * acknowledgement is.
   */
  opampAgent: record('opamp/<accountId>/<appId>', {
    schema: z.looseObject({
      /** The ids of its last two instances, the newest first: 32 hex digits each. */
      instances: z.array(z.string()).max(2),
      /** As it described itself; absent until it has. */
      described: z.looseObject({ platform: z.string().optional(), agentVersion: z.string().optional() }).optional(),
      /**
       * The hash of the configuration that it last reported, or was offered where it reports none, and how that went.
       */
      config: z.looseObject({ hash: z.string(), status: z.string() }).optional(),
      /** The hash of the last offer, until the agent has said what it did with it. */
      offered: z.string().optional(),
      /** The key of what it could not load, until another content is wanted: it gets the empty one in its place. */
      failed: z.string().optional(),
      health: z.looseObject({ healthy: z.boolean(), error: z.string().optional(), at: instant }).optional(),
      /** The hash of the connection settings that it was offered last. */
      settings: z.string().optional(),
      /** Something that it said is missing: it is to be asked for its full state. */
      owes: z.boolean().optional(),
      /** Instances of the last hour that came without a word on themselves: since when, and how many. */
      strangers: z.looseObject({ since: instant, count: z.int().min(0) }).optional(),
      /** When it was last asked for its full state. */
      askedAt: instant.optional(),
      /** When the audit was last told that machines share the credential, of the device plane too. */
      sharedAt: instant.optional(),
    }),
    writeClass: 'growth',
    // What agents said then is not what they have now: they say it again.
    backup: 'left out',
    ownedBy: 'app',
    holds: 'what an agent of OpAMP said; when an app was found shared; quiet',
  }),
};
export type OpampAgentRecord = RecordOf<typeof opampRecords.opampAgent>;
