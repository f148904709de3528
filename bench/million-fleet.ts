import { hash } from 'node:crypto';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Devices } from '../fleet/devices.ts';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { localUrl } from '../src/config/addresses.ts';
import { openStore, type StoreChoice } from '../src/service/open-store.ts';
import type { Child } from './child.ts';
import { seedFleet } from './fleet-seed.ts';
import type { Ports } from './shots.ts';

const READY_EVERY_MS = 20;

/** Writes so many devices straight into the store. @returns them, with their credentials */
export async function seedDevices(choice: StoreChoice, count: number, intervalSeconds: number): Promise<Devices> {
  const devices = new Devices(count);
  await using store = await openStore(choice);
  const hashOf = (device: number): string => hash('sha256', devices.credential(device), 'base64url');
  const told = (apps: number): void => void process.stderr.write(`${apps} apps are in the store\n`);
  await seedFleet(store, count, told, hashOf);
  for (let device = 0; device < count; device += 1) devices.enrolled(device, intervalSeconds);
  return devices;
}

const url = (port: number): string => localUrl('http', '127.0.0.1', port);
export const urlsOf = ({ ports: { api, device, ops } }: Child<Ports>): Urls => ({
  api: url(api),
  device: url(device),
  ops: url(ops),
});

/** Resolves once the replica says that it is ready. */
export async function ready(muster: Child<Ports>): Promise<void> {
  while (!(await fetch(`${urlsOf(muster).ops}/readyz`)).ok) await sleep(READY_EVERY_MS);
}
