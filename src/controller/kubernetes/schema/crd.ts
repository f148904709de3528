import * as z from 'zod';
import { GROUP, VERSION, type KindSchema } from './common.ts';
import { fleetAccount } from './fleet-account.ts';
import { fleetApiKey } from './fleet-api-key.ts';
import { fleetApp } from './fleet-app.ts';
import { fleetOtelConfig } from './fleet-otel-config.ts';

/*
 * The CustomResourceDefinitions, made from the schemas: `npm run crds` writes them to charts/muster/files/crds, and a
 * test holds the files equal to what this makes.
 */

export const KIND_SCHEMAS = [fleetAccount, fleetApiKey, fleetApp, fleetOtelConfig] as const;

/** The structural schema of a zod schema. @throws Error for a zod schema that JSON Schema cannot express */
function structural(schema: z.ZodType): object {
  const made: Record<string, unknown> = z.toJSONSchema(schema, {
    io: 'input',
    target: 'openapi-3.0',
    override: ({ jsonSchema }) => {
      // Kubernetes drops fields that a schema does not name; beside `properties` it does not allow this keyword.
      // A map has it in place of them.
      if (!jsonSchema.additionalProperties || Object.keys(jsonSchema.additionalProperties).length === 0) {
        delete jsonSchema.additionalProperties;
      }
      // The rules of CEL judge the keys of a map.
      delete jsonSchema.propertyNames;
      if (jsonSchema.type === 'integer') {
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        jsonSchema.format = 'int64';
      }
    },
  });
  delete made['$schema'];
  return made;
}

const CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
/** The texts of the fields that every object of Kubernetes has, as its own kinds have them. */
const STANDARD = {
  apiVersion: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${CONVENTIONS}#resources`,
  kind: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${CONVENTIONS}#types-kinds`,
} as const;

export const crdName = ({ plural }: Pick<KindSchema, 'plural'>): string => `${plural}.${GROUP}`;

/** The CustomResourceDefinition of a kind, as it is applied. */
export function crdOf(kind: KindSchema): { apiVersion: string; kind: string; metadata: object; spec: object } {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: crdName(kind) },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [kind.shortName],
        categories: ['muster'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns.map((column) => ({ ...column })),
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: kind.description,
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string', description: STANDARD.apiVersion },
                kind: { type: 'string', description: STANDARD.kind },
                // The API server describes metadata by itself, and allows no description here.
                metadata: { type: 'object' },
                spec: structural(kind.spec),
                // With a status that is not written yet, the defaults of its fields are filled in.
                status: { ...structural(kind.status), default: {} },
              },
            },
          },
        },
      ],
    },
  };
}
