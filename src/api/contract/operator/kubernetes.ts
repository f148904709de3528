import * as z from 'zod';
import { NAMESPACE_NAME } from '../../../config/kubernetes-names.ts';
import { accountId, appId, closedBody, described, instant, keyId, next, pageQuery } from '../fields.ts';
import { operation, READERS } from '../operation.ts';
import { uid } from './accounts.ts';

const UID = '5f2b1c9e-0c4e-4f63-9a54-2d1c7b0e8a31';
const NAMESPACE = 'production';

const namespace = described(
  z.string().max(63).regex(NAMESPACE_NAME, 'must be the name of a namespace'),
  'The namespace.',
  NAMESPACE,
);
const namespaceUid = described(uid, 'The UID of the namespace whose resources may take up what is bound.', UID);

const binding = z
  .object({
    uid: described(z.string(), 'The UID of the resource that has the binding.', '0d9a3c52-7f0b-4a77-8c0e-6f1f4a2b9d10'),
    kind: described(z.string(), 'The kind of the resource.', 'FleetApp'),
    namespace: described(z.string(), 'The namespace of the resource.', NAMESPACE),
    name: described(z.string(), 'The name of the resource.', 'scanner'),
    accountId,
    appId: appId.optional(),
    keyId: keyId.optional(),
  })
  .meta({ id: 'ResourceBinding', description: 'A custom resource, and what it stands for.' });

const recovery = z
  .object({
    namespace,
    namespaceUid,
    until: instant('When the consent ends.'),
  })
  .meta({ id: 'Recovery', description: 'The consent that a namespace takes up what is bound to former UIDs.' });

const bindingsQuery = pageQuery.extend({ namespace: namespace.optional() });

export const listResourceBindings = operation({
  id: 'listResourceBindings',
  method: 'get',
  path: '/operator/v1/kubernetes/bindings',
  roles: READERS,
  summary: 'List what custom resources stand for',
  description:
    'Lists the bindings of custom resources to accounts, apps and keys by the UIDs of the resources, page by page. A page ' +
    'of one namespace may have fewer entries than its limit, or none, and a `next`. With a namespace it has the consent ' +
    'to recover it, as long as that holds.',
  query: bindingsQuery,
  errors: ['invalid_request'],
  answers: [
    {
      status: 200,
      description: 'A page of bindings.',
      schema: z
        .object({
          bindings: described(z.array(binding), 'The bindings of the page.', undefined),
          recovery: recovery.optional(),
          next,
        })
        .meta({ id: 'ResourceBindingPage', description: 'A page of bindings.' }),
    },
  ],
});

export const allowRecovery = operation({
  id: 'allowRecovery',
  method: 'put',
  path: '/operator/v1/kubernetes/recovery',
  summary: 'Let a restored namespace take up what was bound',
  description:
    'Consents for 7 days that the custom resources of a namespace, which a restore or a move to another cluster brought ' +
    'under new UIDs, take up what resources of their names stood for. The clean-up of the former resources does nothing ' +
    'from then on. It takes the place of a consent for another namespace of that name.',
  body: closedBody(z.object({ namespace, namespaceUid }), {
    id: 'RecoveryRequest',
    description: 'The namespace that is recovered.',
  }),
  answers: [{ status: 200, description: 'The consent.', schema: recovery }],
  command: 'kubernetes recover {namespace} --namespace-uid {namespaceUid}',
});
