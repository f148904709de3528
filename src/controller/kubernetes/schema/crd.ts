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
      delete jsonSchema.additionalProperties;
      if (jsonSchema.type === 'integer') {
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        jsonSchema.format = 'int64';
      }
    },
  });
  delete made['$schema'];
  return made;
}

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
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: structural(kind.spec),
                status: structural(kind.status),
              },
            },
          },
        },
      ],
    },
  };
}
