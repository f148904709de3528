import { dumpYaml } from '@kubernetes/client-node';
import { format, resolveConfig } from 'prettier';
import { crdOf } from '../src/controller/kubernetes/schema/crd.ts';
import type { KindSchema } from '../src/controller/kubernetes/schema/common.ts';

/** The text of a CRD's file, in the form that `npm run format` leaves alone. */
export async function crdFile(schema: KindSchema): Promise<string> {
  const { apiVersion, kind, ...rest } = crdOf(schema);
  // The client would write an object with a kind by the names of its own model, as in `_default`.
  const text = `apiVersion: ${apiVersion}\nkind: ${kind}\n${dumpYaml(rest)}`;
  const options = await resolveConfig(import.meta.filename);
  return await format(text, { ...options, parser: 'yaml' });
}
