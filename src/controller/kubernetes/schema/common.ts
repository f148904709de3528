import * as z from 'zod';

/*
 * The parts that the schemas of the four kinds share. The schemas are zod schemas from which the CRD files are made
 * (crd.ts), so they use only what a structural schema of Kubernetes can say; rules over several fields are CEL, each
 * bounded by the lengths of what it reads. Patterns must mean the same in JavaScript and in RE2.
 */

export const GROUP = 'muster.dev';
export const VERSION = 'v1beta1';
export const API_VERSION: string = `${GROUP}/${VERSION}`;

/** A rule of CEL (`x-kubernetes-validations`). */
export interface Rule {
  readonly rule: string;
  readonly message: string;
}
export const rules = (...validations: readonly Rule[]): Record<string, unknown> => ({
  'x-kubernetes-validations': validations,
});

/** A field of the spec that may neither change, nor come later, nor go. */
export const immutable = (field: string): Rule => ({
  rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
  message: `${field} is immutable`,
});

/** The name of an object of Kubernetes: a DNS subdomain. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const objectName = z.string().min(1).max(253).regex(OBJECT_NAME);

/** Refers to a FleetAccount in the same namespace: there is no field for another namespace. */
export const accountRef = z
  .object({ name: objectName.describe('Name of a FleetAccount in the same namespace.') })
  .describe('The account that this belongs to. Immutable.');

export const secretName = objectName;
export const secretKey = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/);

/** A duration of hours, minutes and seconds, as in 720h or 1h30m. */
export const duration = z
  .string()
  .min(2)
  .max(20)
  .regex(/^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?$/);

export const instant = z.string().max(40).meta({ format: 'date-time' });

const DAY_SECONDS_MAX = 99_999;
const PARTS = /^(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,5})s)?$/;

/** The milliseconds of a text of the shape that `duration` takes; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  const parts = PARTS.exec(text);
  if (!parts || text === '') return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = parts
    .slice(1)
    .map((part) => Math.min(Number(part ?? 0), DAY_SECONDS_MAX));
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

/** The generation of a status that nobody has written yet. */
const NO_GENERATION = -1;

/**
 * The generation that the status speaks of. The API server fills in -1 before anything is written: without it tools
 * that follow kstatus would take a resource that was just created for one that is ready.
 */
export const observedGeneration = z
  .int()
  .min(NO_GENERATION)
  .optional()
  .meta({ default: NO_GENERATION })
  .describe(
    'Generation of the spec that the status and its conditions speak of; -1 before Muster has seen the resource.',
  );

export const condition = z
  .object({
    type: z.string().min(1).max(316).describe('What the condition is about, in CamelCase.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
    observedGeneration: z.int().min(0).optional().describe('Generation of the spec that the condition speaks of.'),
    lastTransitionTime: instant.describe('When the status last changed.'),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
      .describe('Why the status is what it is, for programs: one word in CamelCase.'),
    message: z.string().max(32_768).describe('The same for people, with what to do.'),
  })
  .describe('One statement about the resource.');
export type Condition = z.infer<typeof condition>;

export const conditions = z
  .array(condition)
  .max(16)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .describe('Statements about the resource; Ready is the summary of the others.');

export const metadata = z.looseObject({
  name: z.string(),
  /** Empty for an object that lies in none. */
  namespace: z.string().default(''),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.int().default(0),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
});

interface Column {
  readonly name: string;
  /** `date` shows the time since then, and `<invalid>` for an instant that is still to come. */
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  /** A column above 0 is shown by `kubectl get -o wide` alone. */
  readonly priority?: number;
}

const READY = (what: string): string => `.status.conditions[?(@.type=="Ready")].${what}`;
/** The last columns of every kind. */
export const CLOSING_COLUMNS: readonly Column[] = [
  { name: 'Ready', type: 'string', jsonPath: READY('status') },
  { name: 'Reason', type: 'string', jsonPath: READY('reason') },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

/** One kind: the schema of its spec and of its status, and the columns of `kubectl get`. */
export interface KindSchema<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  readonly kind: KindName;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  readonly columns: readonly Column[];
}

export type KindName = 'FleetAccount' | 'FleetApiKey' | 'FleetApp' | 'FleetOtelConfig';
