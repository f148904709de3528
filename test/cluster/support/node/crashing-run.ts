import process from 'node:process';
import { Cluster } from '../cluster.ts';

/* A program of its own: a run of tests that is killed while its cluster is up. */

const cluster = await Cluster.start({ nodes: 1 });
await cluster.kubectl(['run', 'pod', '--image=localhost/pause:1', '--image-pull-policy=Never']);
await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/pod', '--timeout=300s']);
process.stdout.write(`${cluster.plane.directory}\n`);
process.kill(process.pid, 'SIGKILL');
