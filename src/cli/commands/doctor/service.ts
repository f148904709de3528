import { systemClock } from '../../../time/clock.ts';
import { addressOf, trustAuthority, type Address } from '../../connection/address.ts';
import { operatorOf } from '../../connection/clients.ts';
import { fetchTo } from '../../connection/fetch-to.ts';
import { answerJson } from '../../connection/told.ts';
import { unreachable } from '../../connection/unreachable.ts';
import { wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { CHECK_MS_MAX, finding, type Report } from './finding.ts';
import { checkLoginsOfService } from './logins.ts';

const CLOCK_WARN_MS = 5000;
const CLOCK_FAIL_MS = 30_000;
/** The date of a response has whole seconds. */
const DATE_ROUNDING_MS = 1000;

/**
 * Checks the running service through its ops listener.
 * @param mustRun it is a fault when the service cannot be reached
 */
export async function checkService(
  call: Invocation,
  mustRun: boolean,
  report: Report,
): Promise<{ readonly runs: boolean }> {
  const service = finding('service');
  let address: Address;
  try {
    address = addressOf('ops', call);
    trustAuthority(address);
  } catch (error) {
    report(service.fail(wordsOf(error)));
    return { runs: false };
  }
  const { url } = address;
  const askedAt = systemClock.now();
  const ready = await fetchTo(address)(`${url}/readyz`, {
    redirect: 'error',
    signal: AbortSignal.timeout(CHECK_MS_MAX),
  }).catch((error: unknown) => {
    report(service[mustRun ? 'fail' : 'warn'](unreachable(address, error)));
  });
  if (!ready) return { runs: false };
  const answer = ((await answerJson(ready)) ?? {}) as {
    status?: unknown;
    reason?: unknown;
    degraded?: unknown;
  };
  const { status, reason, degraded } = answer;
  if (status === 'ready' && typeof degraded === 'string') report(service.warn(`${url} is ready, but ${degraded}`));
  else if (status === 'ready') report(service.ok(`${url} is ready`));
  else if (status === 'not ready' && typeof reason === 'string') {
    report(service.fail(`${url} is not ready: ${reason}`));
  } else {
    report(service.fail(`${url} answers ${ready.status}, and not as Muster does: check ${address.from}`));
    // A stranger is handed no token, and says nothing about the store and the ports of this machine.
    return { runs: false };
  }
  checkClock(ready.headers.get('date'), askedAt, report);
  await checkToken(call, report);
  return { runs: true };
}

/** Compares this machine's clock with the service's, which may run on another one. */
function checkClock(date: string | null, asked: number, report: Report): void {
  const clock = finding('clock');
  const told = Date.parse(date ?? '');
  if (Number.isNaN(told)) return report(clock.warn('the service does not tell its time'));
  const answered = systemClock.now();
  const [earliest, latest] = [told - answered, told + DATE_ROUNDING_MS - asked];
  const off = earliest > 0 ? earliest : Math.min(latest, 0);
  const says = `the service's clock is ${(Math.abs(off) / 1000).toFixed(0)} s ${off < 0 ? 'behind' : 'ahead of'} this one`;
  if (Math.abs(off) > CLOCK_FAIL_MS) report(clock.fail(`${says}: set both by NTP; nights and codes go by the clock`));
  else if (Math.abs(off) > CLOCK_WARN_MS) report(clock.warn(`${says}: check NTP on both`));
  else report(clock.ok('the service has the same time as this machine'));
}

async function checkToken(call: Invocation, report: Report): Promise<void> {
  const token = finding('token');
  const keys = finding('keys');
  try {
    const { writing, known } = await operatorOf(call).readKeys({ timeoutMs: CHECK_MS_MAX });
    report(token.ok('the service takes the operator token'));
    if (known.includes(writing)) report(keys.ok(`key ${writing} is active, and the service knows it`));
    else report(keys.fail(`key ${writing} is active, and the service's key file does not have it: add its line`));
  } catch (error) {
    return report(token.fail(wordsOf(error)));
  }
  await checkLoginsOfService(operatorOf(call), report).catch((error: unknown) =>
    report(finding('logins').fail(wordsOf(error))),
  );
}
