import { cleanedName } from '../../../text/names.ts';
import * as z from 'zod';
import type { SecretTemplate } from '../../../config/kubernetes-names.ts';
import type { KubeObject, ResourceType } from '../client/kube-api.ts';
import { InvalidSpec } from '../failures/failure.ts';
import {
  condition,
  GROUP,
  metadata,
  VERSION,
  type Condition,
  type KindName,
  type KindSchema,
} from '../schema/common.ts';
import { secretTemplate } from '../schema/secret-template.ts';

/** A custom resource as it was read: its spec parsed by the schema, its status as far as it can be parsed. */
export interface Resource<Spec, Status> {
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Whether it was deleted: it is gone once Muster has cleaned up and removes its finalizer. */
  readonly deleting: boolean;
  readonly spec: Spec;
  readonly status: Partial<Status>;
  readonly conditions: readonly Condition[];
  readonly object: KubeObject;
}

/** Keeps a deleted resource until Muster has cleaned up what it stands for. */
export const FINALIZER = 'muster.dev/cleanup';

/** The name for people: that of the spec, where anything of it would be seen, or the resource's own. */
export const displayNameOf = ({
  spec,
  name,
}: {
  readonly spec: { readonly displayName?: string | undefined };
  readonly name: string;
}): string => cleanedName(spec.displayName ?? '') || name;

/** The type of the objects of a kind, for the paths of the API server. */
export const resourceTypeOf = ({ plural }: Pick<KindSchema, 'plural'>): ResourceType => ({
  group: GROUP,
  version: VERSION,
  plural,
});

const conditionsSchema = z.looseObject({ conditions: z.array(condition).optional() });

/** The conditions of an object, whatever the rest of it is; none where they cannot be parsed. */
export const conditionsOf = (object: KubeObject): readonly Condition[] =>
  conditionsSchema.safeParse(object['status'] ?? {}).data?.conditions ?? [];

/** @throws InvalidSpec where the spec does not fit the schema, as when the CRD is that of another version */
export function parseResource<Spec extends z.ZodType, Status extends z.ZodType>(
  schema: KindSchema<Spec, Status>,
  object: KubeObject,
): Resource<z.infer<Spec>, z.infer<Status>> {
  const { name, namespace, uid, generation, deletionTimestamp } = metadata.parse(object.metadata);
  // A status that cannot be parsed is written anew.
  const status = schema.status.safeParse(object['status'] ?? {});
  const spec = schema.spec.safeParse(object['spec'] ?? {});
  if (!spec.success) throw new InvalidSpec(spec.error);
  return {
    kind: schema.kind,
    namespace,
    name,
    uid,
    generation,
    deleting: deletionTimestamp !== undefined,
    spec: spec.data,
    status: status.success ? status.data : {},
    conditions: conditionsOf(object),
    object,
  };
}

const templated = z.looseObject({ secretTemplate });

/** The labels and annotations that the spec gives the Secret, none where it is not valid, over those of all Secrets. */
export function templateOf(object: KubeObject, all: SecretTemplate): SecretTemplate {
  const { labels, annotations } = templated.safeParse(object['spec']).data?.secretTemplate ?? {};
  return { labels: { ...all.labels, ...labels }, annotations: { ...all.annotations, ...annotations } };
}

/** Whether Muster's finalizer is on the object. */
export const hasFinalizer = (object: KubeObject): boolean => object.metadata.finalizers.includes(FINALIZER);

/** The key of the work queue: `Kind/namespace/name`. */
export const workKey = (kind: KindName, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;

/** The parts of a key that `workKey` made. */
export function parseWorkKey(key: string): { kind: string; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return { kind, namespace, name };
}
