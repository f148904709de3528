import * as z from 'zod';
import { described } from '../fields.ts';
import { operation } from '../operation.ts';

/* The addresses at which daemons and programs reach the service, for the commands that the pages show. */

const address = (what: string, example: string) =>
  z.object({
    url: described(z.string(), `The URL of the ${what}, without a slash at its end.`, example),
    configured: described(
      z.boolean(),
      'Whether an operator has said so. Where not, it is the address of the listener, which other machines may not reach.',
      true,
    ),
  });

const addresses = z
  .object({
    api: described(address('API listener', 'https://api.example.com'), 'The listener of `/v1`.', undefined),
    device: described(
      address('device listener', 'https://devices.example.com'),
      'The listener at which daemons enroll.',
      undefined,
    ),
    opampUrl: described(z.string(), 'The endpoint of OpAMP for collectors.', 'https://devices.example.com/v1/opamp'),
    image: described(z.string(), 'The name of the image of this version, without a registry.', 'muster:0.1.0'),
  })
  .meta({ id: 'PublicAddresses', description: 'Where the service is reached.' });
export type PublicAddresses = z.infer<typeof addresses>;

export const readAddresses = operation({
  id: 'readAddresses',
  method: 'get',
  path: '/panel/v1/addresses',
  access: 'signed-in',
  summary: 'Read where the service is reached',
  description:
    'Tells by which addresses daemons and programs reach the service: those of `MUSTER_PUBLIC_API_URL` and ' +
    '`MUSTER_PUBLIC_DEVICE_URL`, else those of the listeners. What the request says in `Host` has no say in it.',
  answers: [{ status: 200, description: 'The addresses.', schema: addresses }],
});
