import type { Mutant } from './mutant.ts';

/** The leader, the operator of Kubernetes, the command line and the metrics. */
export const CONTROLLER: readonly Mutant[] = [
  {
    name: 'a leader that stops keeps its lease',
    file: 'src/controller/leader.ts',
    search: '    await held.release();\n',
    replacement: '',
    rule: 'Leader lease: a leader that stops is followed at the next check of another one.',
    caughtBy: ['test/controller/leader.test.ts'],
  },
  {
    name: 'a code that was generated before a revocation is registered after it',
    file: 'src/controller/kubernetes/resources/fleet-app-decide.ts',
    search: `if (pending && !issue) return`,
    replacement: `if (pending && !issue && app.status !== 'revoked') return`,
    rule: 'Kubernetes: an app that was revoked outside is not brought back by a code that was generated before.',
    caughtBy: ['test/controller/kubernetes/resources/fleet-app-decide.test.ts'],
  },
  {
    name: 'a failed check of the doctor ends as any failure does',
    file: 'src/cli/commands/doctor/doctor.ts',
    search: '${failed} checks failed.`, EXIT.bad);',
    replacement: '${failed} checks failed.`);',
    rule: 'Command line: the exit code is 3 where a check of the doctor fails.',
    caughtBy: ['test/cli/commands/doctor/doctor.test.ts'],
  },
  {
    name: 'the path of a request becomes a label',
    file: 'src/api/serve/request-listener.ts',
    search: 'exchange.route = templateOf(target) ?? exchange.route;',
    replacement: 'exchange.route = target;',
    rule: 'Metrics: labels are of closed sets, and no ID of an app is in them.',
    caughtBy: [
      'test/api/operator/metrics.test.ts',
      'test/monitoring/live.test.ts',
      'test/service/no-secret-leaks.test.ts',
    ],
  },
  {
    name: 'a request whose path has an escape is told of without its route',
    file: 'src/api/serve/request-listener.ts',
    search: 'exchange.route = templateOf(target) ?? exchange.route;',
    replacement: "exchange.route = (target.includes('%') ? undefined : templateOf(target)) ?? exchange.route;",
    rule: 'Metrics: whatever refuses a request, its route is told.',
    caughtBy: ['test/api/http/route-labels.test.ts'],
  },
  {
    name: 'a trace of zeros is taken for one',
    file: 'src/api/http/response.ts',
    search: 'ZEROS.test(traceId) ||',
    replacement: '',
    rule: 'W3C Trace Context: an id of zeros alone is none.',
    caughtBy: ['test/api/http/trace-id.test.ts'],
  },
  {
    name: 'a scraper that prefers text gets OpenMetrics',
    file: 'src/api/operator/exposition.ts',
    search: 'openMetrics > 0 && openMetrics >= text',
    replacement: 'openMetrics > 0',
    rule: '/metrics: the format is the one that the scraper prefers.',
    caughtBy: ['test/api/operator/exposition.test.ts'],
  },
];
