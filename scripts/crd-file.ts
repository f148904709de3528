import { stringify } from 'yaml';
import { crdOf } from '../src/controller/kubernetes/schema/crd.ts';
import type { KindSchema } from '../src/controller/kubernetes/schema/common.ts';

/**
 * The text of a CRD's file: in the form that `npm run format` leaves alone, and for readers of YAML 1.1, as Go's are.
 */
export const crdFile = (schema: KindSchema): string =>
  stringify(crdOf(schema), { version: '1.1', lineWidth: 0, singleQuote: true, aliasDuplicateObjects: false });
