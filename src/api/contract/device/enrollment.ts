import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { asciiText } from '../../http/fields.ts';
import { appId, described, named } from '../fields.ts';
import { operation } from '../operation.ts';

const reported = (what: string, example: string) =>
  described(
    asciiText(LIMITS.deviceTextCharactersMax).default(''),
    `${what}; printable ASCII, empty without it.`,
    example,
  );

const body = z
  .object({
    appId: described(
      z.string(),
      'The id of the app that the daemon enrolls as. One of another form is as wrong as an unknown one.',
      'k3v9x0q2m7t5b8n1c4d6',
    ),
    enrollCode: described(
      z.string(),
      'An open enrollment code of the app, a secret. It is used up. One of another form is as wrong as an unknown one.',
      `mst_code_${'0'.repeat(43)}1jxTqE`,
    ),
    platform: reported('The platform of the machine', 'linux/arm64'),
    agentVersion: reported('The version of the daemon', '1.4.2'),
    // O11: a device that does not say how it is connected is private.
    connection: named(
      'Connection',
      z.enum(['cloud', 'private']),
      'Only a `cloud` daemon of an Enterprise account receives the configuration; a `private` one, as without this field, is configured locally.',
      'cloud',
    ).default('private'),
    credentialHash: described(
      z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be the SHA-256 of the credential as 64 hex digits'),
      'The SHA-256 of a credential that the daemon made itself, in 64 hex digits. Without it the service makes one, and ' +
        'an answer that is lost costs the code.',
      'b1e477efbe2c0850aba86116156fb12373f4d71cf12819787323bffccf59024f',
    ).optional(),
  })
  .meta({ id: 'EnrollDeviceRequest', description: 'What a daemon shows to enroll.' });

export const pollIntervalSeconds = described(
  z.int().min(1),
  'Seconds from one poll of this app’s daemon to the next; it has a spread of its own, so that a fleet does not poll in step.',
  60,
);

/** POST /device/v1/enroll. */
export const enrollDevice = operation({
  id: 'enrollDevice',
  method: 'post',
  path: '/device/v1/enroll',
  summary: 'Enroll a daemon',
  description:
    'Exchanges an enrollment code for a device credential. A daemon should make its own credential (`mst_dev_` and 43 to ' +
    '128 characters of `A-Z a-z 0-9 _ -`), send its hash as `credentialHash`, and the credential itself as bearer, which ' +
    'proves that it is its own. The same request may then be repeated for 15 minutes.',
  body,
  refuse: {
    appId: 'invalid_request',
    enrollCode: 'invalid_request',
    platform: 'invalid_request',
    agentVersion: 'invalid_request',
    connection: 'invalid_request',
    credentialHash: 'invalid_request',
  },
  credential: 'optional',
  // A daemon that was enrolled by a sample would have a credential that everybody can read there.
  exampleWithout: ['credentialHash'],
  errors: ['invalid_code', 'account_disabled'],
  answers: [
    {
      status: 200,
      description: 'The daemon is enrolled: the app is active, and an earlier daemon of it is refused.',
      schema: z
        .object({
          appId,
          status: described(z.literal('active'), 'The status of the app from now on.', 'active'),
          pollIntervalSeconds,
          credential: described(
            z.string().regex(/^mst_dev_[0-9A-Za-z]{49}$/),
            'The credential that the service made, a secret that no other answer shows; absent where the daemon sent a hash.',
            `mst_dev_${'0'.repeat(43)}1jxTqE`,
          ).optional(),
        })
        .meta({ id: 'EnrolledDevice', description: 'An enrolled daemon.' }),
    },
  ],
  command: 'agent run --app {appId} --code-file enroll-code --credential-file credential',
});
